//! Reads pack files: the index that maps ids to offsets, and the entries at these offsets.
//!
//! Files are read with `pread` and never mapped: a pack that is truncated while it is mapped would kill the process.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use flate2::bufread::ZlibDecoder;

use super::Declined;
use super::object_id::{Algorithm, Kind, ObjectId};
use super::repository_files::{Stamp, open_file};
use super::work_budget::{Budget, MAX_OBJECT_BYTES};

/// Magic number and version 2.
const INDEX_HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT_BYTES: u64 = 256 * 4;
/// Bisecting stops here, and the rest is read at once.
const BISECT_ENTRIES: u64 = 32;
/// The bytes of an entry that are read at once; most entries are smaller.
const READ_BYTES: usize = 4096;

const MALFORMED: Declined = Declined("a malformed pack");

/// A pack and the first table of its index. Its files are opened when they are needed.
#[derive(Debug)]
pub(crate) struct Pack {
    /// Different for every pack of this process.
    pub(crate) serial: u64,
    pub(crate) index: PathBuf,
    pub(crate) stamp: Stamp,
    algorithm: Algorithm,
    /// How many ids begin with this byte or a smaller one.
    fanout: Vec<u32>,
}

/// The open files of a pack.
#[derive(Debug)]
pub(crate) struct PackFiles {
    index: File,
    data: File,
}

/// An entry of a pack, without its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) content: EntryContent,
    size: usize,
    data: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryContent {
    Object(Kind),
    /// A delta to the entry at this offset.
    OffsetDelta(u64),
    /// A delta to an object of this pack.
    IdDelta(ObjectId),
}

impl Pack {
    /// `None` if the index is not one of version 2.
    pub(crate) fn open(index: &Path, stamp: Stamp, algorithm: Algorithm) -> Option<Self> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let mut file = open_file(index).ok()?;
        let (mut header, mut table) = ([0; 8], vec![0; FANOUT_BYTES as usize]);
        file.read_exact(&mut header).ok()?;
        file.read_exact(&mut table).ok()?;
        let fanout: Vec<u32> = table.chunks_exact(4).map(big_endian).collect();
        let is_valid = header == INDEX_HEADER && fanout.is_sorted();
        let serial = SERIAL.fetch_add(1, Relaxed);
        is_valid.then(|| Self { serial, index: index.to_owned(), stamp, algorithm, fanout })
    }

    pub(crate) fn open_files(&self) -> io::Result<PackFiles> {
        Ok(PackFiles { index: open_file(&self.index)?, data: open_file(&self.index.with_extension("pack"))? })
    }

    /// The offset of an object in this pack.
    pub(crate) fn find(&self, files: &PackFiles, id: &ObjectId) -> Result<Option<u64>, Declined> {
        let id_len = self.algorithm.id_len() as u64;
        let first = usize::from(id.as_bytes().first().copied().unwrap_or_default());
        let count_to = |at: usize| self.fanout.get(at).copied().map_or(0, u64::from);
        let (mut low, mut high) = (first.checked_sub(1).map_or(0, count_to), count_to(first));
        let ids = INDEX_HEADER.len() as u64 + FANOUT_BYTES;
        while high - low > BISECT_ENTRIES {
            let middle = u64::midpoint(low, high);
            let mut found = [0; 32];
            let found = found.get_mut(..id_len as usize).ok_or(MALFORMED)?;
            read_at(&files.index, found, ids + middle * id_len)?;
            if *found <= *id.as_bytes() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut rest = vec![0; ((high - low) * id_len) as usize];
        read_at(&files.index, &mut rest, ids + low * id_len)?;
        let Some(at) = rest.chunks_exact(id_len as usize).position(|found| found == id.as_bytes()) else {
            return Ok(None);
        };
        self.offset(files, ids, low + at as u64).map(Some)
    }

    fn offset(&self, files: &PackFiles, ids: u64, at: u64) -> Result<u64, Declined> {
        let count = self.fanout.last().copied().map_or(0, u64::from);
        // After the ids comes a checksum of four bytes for each object.
        let offsets = ids + count * (self.algorithm.id_len() as u64 + 4);
        let mut short = [0; 4];
        read_at(&files.index, &mut short, offsets + at * 4)?;
        let short = u64::from(big_endian(&short));
        if short & 0x8000_0000 == 0 {
            return Ok(short);
        }
        let mut long = [0; 8];
        read_at(&files.index, &mut long, offsets + count * 4 + (short & 0x7fff_ffff) * 8)?;
        Ok(u64::from_be_bytes(long))
    }

    /// Reads the header of the entry at `offset`.
    pub(crate) fn entry(&self, files: &PackFiles, offset: u64) -> Result<Entry, Declined> {
        let mut buffer = [0; 64];
        let read = files.data.read_at(&mut buffer, offset).map_err(|_| MALFORMED)?;
        let mut rest = buffer.get(..read).unwrap_or_default();
        let first = next_byte(&mut rest)?;
        let (mut size, mut shift, mut byte) = (usize::from(first & 0x0f), 4, first);
        while byte & 0x80 != 0 {
            byte = next_byte(&mut rest)?;
            if shift > 32 {
                return Err(MALFORMED);
            }
            size |= usize::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let content = match (first >> 4) & 7 {
            1 => EntryContent::Object(Kind::Commit),
            2 => EntryContent::Object(Kind::Tree),
            3 => EntryContent::Object(Kind::Blob),
            4 => EntryContent::Object(Kind::Tag),
            6 => {
                let distance = read_distance(&mut rest)?;
                let base = offset.checked_sub(distance).filter(|_| distance > 0);
                EntryContent::OffsetDelta(base.ok_or(MALFORMED)?)
            }
            7 => {
                let (id, after) = rest.split_at_checked(self.algorithm.id_len()).ok_or(MALFORMED)?;
                rest = after;
                EntryContent::IdDelta(ObjectId::new(id))
            }
            _ => return Err(MALFORMED),
        };
        Ok(Entry { content, size, data: offset + (read - rest.len()) as u64 })
    }

    /// Reads the object or delta of an entry.
    pub(crate) fn data(&self, files: &PackFiles, entry: Entry, budget: &mut Budget) -> Result<Vec<u8>, Declined> {
        budget.take_bytes(entry.size)?;
        let file = FileFrom { file: &files.data, at: entry.data };
        let data = inflate(file, entry.size)?;
        if data.len() == entry.size { Ok(data) } else { Err(MALFORMED) }
    }
}

/// Inflates a zlib stream. Stops with an error when it has more than `limit` bytes.
pub(crate) fn inflate(stream: impl Read, limit: usize) -> Result<Vec<u8>, Declined> {
    let limit = limit.min(MAX_OBJECT_BYTES);
    let mut data = Vec::with_capacity(limit.min(64 * 1024));
    let decoder = ZlibDecoder::new(BufReader::with_capacity(READ_BYTES, stream));
    // Reading on to the end of the stream also checks its checksum.
    let read = decoder.take(limit as u64 + 1).read_to_end(&mut data);
    if read.is_ok() && data.len() <= limit { Ok(data) } else { Err(Declined("data that cannot be inflated")) }
}

/// Reads a file from an offset on.
struct FileFrom<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FileFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> Result<(), Declined> {
    file.read_exact_at(buffer, at).map_err(|_| MALFORMED)
}

fn next_byte(rest: &mut &[u8]) -> Result<u8, Declined> {
    let (&byte, after) = rest.split_first().ok_or(MALFORMED)?;
    *rest = after;
    Ok(byte)
}

/// A distance in groups of seven bits, the highest first. Each further group adds one, so that no number has two forms.
fn read_distance(rest: &mut &[u8]) -> Result<u64, Declined> {
    let mut byte = next_byte(rest)?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next_byte(rest)?;
        if distance >= 1 << 48 {
            return Err(MALFORMED);
        }
        distance = ((distance + 1) << 7) | u64::from(byte & 0x7f);
    }
    Ok(distance)
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| (number << 8) | u32::from(byte))
}
