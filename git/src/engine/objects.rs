//! Reads objects of a repository: from packs, loose files and the object folders that it borrows from.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use quick_cache::Weighter;

use super::Declined;
use super::delta::apply_delta;
use super::object_id::{Algorithm, Kind, ObjectId};
use super::pack::{EntryContent, Pack, PackFiles, inflate};
use super::repository_files::{Stamp, open_file, read_file};
use super::work_budget::{Budget, MAX_OBJECT_BYTES};

const MAX_CACHED_OBJECT_BYTES: usize = 1024 * 1024;
const MAX_ALTERNATES_DEPTH: usize = 5;
const MAX_FOLDERS: usize = 64;
const MAX_ALTERNATES_BYTES: u64 = 64 * 1024;
const MAX_PACKS: usize = 512;
const MAX_PACK_FILES: usize = 20 * MAX_PACKS;
const MAX_DELTA_CHAIN: usize = 4096;
/// Open packs of one call; each takes two file descriptors.
const MAX_OPEN_PACKS: usize = 16;

/// An object. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) content: Arc<[u8]>,
}

/// Objects that were read before, of all repositories.
pub(crate) type ObjectCache = quick_cache::sync::Cache<CacheKey, Object, ByteWeighter>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CacheKey {
    /// The number of the repository, and an id. The hash of the object was checked.
    Id(u64, ObjectId),
    /// The serial number of a pack, and an offset: a base of deltas. Its hash was not checked.
    Offset(u64, u64),
}

#[derive(Debug, Clone)]
pub(crate) struct ByteWeighter;

impl Weighter<CacheKey, Object> for ByteWeighter {
    fn weight(&self, _: &CacheKey, object: &Object) -> u64 {
        object.content.len() as u64 + 128
    }
}

/// The objects of one repository.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) algorithm: Algorithm,
    /// Different for every repository of this process.
    serial: u64,
    /// The own folder, and further ones that it does not name.
    folders: Vec<PathBuf>,
    /// These folders and the borrowed ones, as of the last scan.
    stores: RwLock<Arc<Vec<Store>>>,
    cache: Arc<ObjectCache>,
}

/// One object folder.
#[derive(Debug)]
struct Store {
    folder: PathBuf,
    packs: Vec<Arc<Pack>>,
}

impl Objects {
    pub(crate) fn new(folder: PathBuf, further: Vec<PathBuf>, algorithm: Algorithm, cache: Arc<ObjectCache>) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let folders = [vec![folder], further].concat();
        Self { algorithm, serial: SERIAL.fetch_add(1, Relaxed), folders, stores: RwLock::default(), cache }
    }

    fn stores(&self) -> Arc<Vec<Store>> {
        Arc::clone(&self.stores.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lists the folders and packs again. A pack that did not change keeps its serial number.
    fn rescan(&self) {
        let known = self.stores();
        let known = |index: &Path, stamp: Stamp| {
            let packs = known.iter().flat_map(|store| &store.packs);
            packs.into_iter().find(|pack| pack.index == index && pack.stamp == stamp).cloned()
        };
        let open = |index: PathBuf| {
            let stamp = Stamp::of(&fs::metadata(&index).ok()?);
            known(&index, stamp).or_else(|| Pack::open(&index, stamp, self.algorithm).map(Arc::new))
        };
        let mut packs_left = MAX_PACKS;
        let store = |folder: PathBuf| {
            let entries = fs::read_dir(folder.join("pack")).into_iter().flatten().flatten().map(|entry| entry.path());
            let indexes = entries
                .take(MAX_PACK_FILES)
                .filter(|path| path.extension().is_some_and(|extension| extension == "idx"));
            let packs: Vec<_> = indexes.take(packs_left).filter_map(open).collect();
            packs_left -= packs.len();
            Store { folder, packs }
        };
        let stores = object_folders(&self.folders).into_iter().map(store).collect();
        *self.stores.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(stores);
    }
}

/// The folders, and those that they borrow from, directly or not.
fn object_folders(own: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = own.to_vec();
    let mut seen: HashSet<PathBuf> = folders.iter().cloned().collect();
    let mut level = folders.clone();
    for _ in 0..MAX_ALTERNATES_DEPTH {
        level = level.iter().flat_map(|folder| alternates(folder)).filter(|new| seen.insert(new.clone())).collect();
        folders.extend(level.iter().cloned());
        folders.truncate(MAX_FOLDERS);
        level.truncate(MAX_FOLDERS);
    }
    folders
}

/// The lines of `info/alternates`. Quoted paths are left out: what is only there is missing, and git is asked.
fn alternates(folder: &Path) -> Vec<PathBuf> {
    let read = |file| read_file(&file, MAX_ALTERNATES_BYTES);
    let Ok(text) = open_file(&folder.join("info/alternates")).and_then(read) else { return Vec::new() };
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !matches!(line.first(), None | Some(b'#' | b'"')));
    let paths = lines.map(|line| folder.join(std::ffi::OsStr::from_bytes(line)));
    paths.filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// Reads objects for one call, within its budget.
pub(crate) struct ObjectReader<'a> {
    objects: &'a Objects,
    pub(crate) budget: Budget,
    /// Objects that this call made.
    made: HashMap<ObjectId, Object>,
    files: HashMap<u64, Arc<PackFiles>>,
    /// The pack of the last object: the next one is probably there too.
    last: Option<Arc<Pack>>,
}

impl<'a> ObjectReader<'a> {
    pub(crate) fn new(objects: &'a Objects) -> Self {
        Self { objects, budget: Budget::new(), made: HashMap::new(), files: HashMap::new(), last: None }
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.objects.algorithm
    }

    /// Keeps a new object for the rest of the call.
    pub(crate) fn add(&mut self, kind: Kind, content: Vec<u8>) -> Result<ObjectId, Declined> {
        self.budget.take_bytes(content.len())?;
        let id = self.algorithm().object_id(kind, &content)?;
        self.made.insert(id, Object { kind, content: content.into() });
        Ok(id)
    }

    /// Reads an object of a certain kind.
    pub(crate) fn read_kind(&mut self, id: &ObjectId, kind: Kind) -> Result<Arc<[u8]>, Declined> {
        let object = self.read(id)?;
        if object.kind == kind { Ok(object.content) } else { Err(Declined("an object of another kind")) }
    }

    /// Reads an object and checks its hash.
    pub(crate) fn read(&mut self, id: &ObjectId) -> Result<Object, Declined> {
        if let Some(object) = self.made.get(id) {
            return Ok(object.clone());
        }
        let key = CacheKey::Id(self.objects.serial, *id);
        if let Some(object) = self.objects.cache.get(&key) {
            return Ok(object);
        }
        let object = match self.find(id)? {
            Some(object) => object,
            // It may be new, or git may have moved it into another pack.
            None => {
                self.objects.rescan();
                self.files.clear();
                self.last = None;
                self.find(id)?.ok_or(Declined("a missing object"))?
            }
        };
        if self.algorithm().stored_object_id(object.kind, &object.content)? != *id {
            return Err(Declined("an object with another hash"));
        }
        self.cache(key, &object);
        Ok(object)
    }

    fn cache(&self, key: CacheKey, object: &Object) {
        if object.content.len() <= MAX_CACHED_OBJECT_BYTES {
            self.objects.cache.insert(key, object.clone());
        }
    }

    /// Looks in the last pack, in all packs, and among the loose files. `None` also if a file has just disappeared.
    fn find(&mut self, id: &ObjectId) -> Result<Option<Object>, Declined> {
        let stores = self.objects.stores();
        let packs = self.last.clone().into_iter().chain(stores.iter().flat_map(|store| store.packs.iter().cloned()));
        for pack in packs {
            let Some(files) = self.open(&pack) else { continue };
            if let Some(offset) = pack.find(&files, id)? {
                let object = self.read_packed(&pack, &files, offset)?;
                self.last = Some(pack);
                return Ok(Some(object));
            }
        }
        let hex = id.to_string();
        let Some((folder, name)) = hex.split_at_checked(2) else { return Ok(None) };
        for store in stores.iter() {
            if let Ok(file) = open_file(&store.folder.join(folder).join(name)) {
                return self.read_loose(file).map(Some);
            }
        }
        Ok(None)
    }

    fn open(&mut self, pack: &Pack) -> Option<Arc<PackFiles>> {
        if let Some(files) = self.files.get(&pack.serial) {
            return Some(Arc::clone(files));
        }
        if self.files.len() >= MAX_OPEN_PACKS {
            self.files.clear();
        }
        let files = Arc::new(pack.open_files().ok()?);
        self.files.insert(pack.serial, Arc::clone(&files));
        Some(files)
    }

    /// Reads an entry and the chain of its delta bases.
    fn read_packed(&mut self, pack: &Pack, files: &PackFiles, offset: u64) -> Result<Object, Declined> {
        let mut deltas = Vec::new();
        let mut at = offset;
        let mut object = loop {
            let key = CacheKey::Offset(pack.serial, at);
            if let Some(object) = self.objects.cache.get(&key) {
                break object;
            }
            let entry = pack.entry(files, at)?;
            let data = pack.data(files, entry, &mut self.budget)?;
            let base = match entry.content {
                EntryContent::Object(kind) => {
                    let object = Object { kind, content: data.into() };
                    if !deltas.is_empty() {
                        self.cache(key, &object);
                    }
                    break object;
                }
                EntryContent::OffsetDelta(base) => base,
                EntryContent::IdDelta(id) => pack.find(files, &id)?.ok_or(Declined("a missing delta base"))?,
            };
            if deltas.len() >= MAX_DELTA_CHAIN {
                return Err(Declined("a long chain of deltas"));
            }
            deltas.push((at, data));
            at = base;
        };
        while let Some((at, delta)) = deltas.pop() {
            let content = apply_delta(&object.content, &delta, &mut self.budget)?;
            object = Object { kind: object.kind, content: content.into() };
            if !deltas.is_empty() {
                self.cache(CacheKey::Offset(pack.serial, at), &object);
            }
        }
        Ok(object)
    }

    /// Reads a loose file: `KIND SIZE`, a NUL byte and the content.
    fn read_loose(&mut self, file: fs::File) -> Result<Object, Declined> {
        const MALFORMED: Declined = Declined("a malformed object");
        let data = inflate(file, MAX_OBJECT_BYTES)?;
        self.budget.take_bytes(data.len())?;
        let end = data.iter().take(32).position(|&byte| byte == 0).ok_or(MALFORMED)?;
        let header = std::str::from_utf8(data.get(..end).unwrap_or_default()).map_err(|_| MALFORMED)?;
        let content = data.get(end + 1..).unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| header == format!("{} {}", kind.name(), content.len()));
        Ok(Object { kind: kind.ok_or(MALFORMED)?, content: content.into() })
    }
}
