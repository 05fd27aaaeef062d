//! The id of a git object, and the hash functions (SHA-1, SHA-256) that compute it.

use std::fmt;

use sha1_checked::Digest as _;
use sha2::Digest as _;

use super::Declined;

/// The object format of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Sha1,
    Sha256,
}

impl Algorithm {
    /// The algorithm of an object format: `sha1` or `sha256`.
    pub(crate) fn of_format(format: &str) -> Option<Self> {
        match format {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            _ => None,
        }
    }

    /// The length of an id in bytes.
    pub(crate) const fn id_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// The id of a new object. Declines content that was made to have the id of other content.
    pub(crate) fn object_id(self, kind: Kind, content: &[u8]) -> Result<ObjectId, Declined> {
        self.hash(Hasher::new(self), kind, content)
    }

    /// The id of an object that the repository has. Like git, this does not look for collisions when it reads, which
    /// takes a tenth of the time.
    pub(crate) fn stored_object_id(self, kind: Kind, content: &[u8]) -> Result<ObjectId, Declined> {
        let hasher = match self {
            Self::Sha1 => Hasher::Sha1(Box::new(sha1_checked::Sha1::builder().detect_collision(false).build())),
            Self::Sha256 => Hasher::new(self),
        };
        self.hash(hasher, kind, content)
    }

    fn hash(self, mut hasher: Hasher, kind: Kind, content: &[u8]) -> Result<ObjectId, Declined> {
        hasher.update(format!("{} {}\0", kind.name(), content.len()).as_bytes());
        hasher.update(content);
        hasher.finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}

/// The id of an object, 20 or 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId {
    bytes: [u8; 32],
    len: u8,
}

impl ObjectId {
    /// An id of the length of `bytes`; longer ones are cut off.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let from = bytes.get(..32).unwrap_or(bytes);
        let mut id = Self { bytes: [0; 32], len: from.len() as u8 };
        if let Some(to) = id.bytes.get_mut(..from.len()) {
            to.copy_from_slice(from);
        }
        id
    }

    /// Reads a full id in lower case. Git also accepts capitals, but not everywhere.
    pub(crate) fn parse(hex: &[u8], algorithm: Algorithm) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        if hex.len() != 2 * algorithm.id_len() {
            return None;
        }
        let mut bytes = [0; 32];
        for (to, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *to = (digit(*high)? << 4) | digit(*low)?;
        }
        Some(Self::new(bytes.get(..algorithm.id_len())?))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    pub(crate) fn is_null(&self) -> bool {
        self.bytes == [0; 32]
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes one hash.
pub(crate) enum Hasher {
    Sha1(Box<sha1_checked::Sha1>),
    Sha256(sha2::Sha256),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha1 => Self::Sha1(Box::new(sha1_checked::Sha1::new())),
            Algorithm::Sha256 => Self::Sha256(sha2::Sha256::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// Declines data that was made to have the hash of other data.
    pub(crate) fn finish(self) -> Result<ObjectId, Declined> {
        match self {
            Self::Sha1(hasher) => {
                let result = hasher.try_finalize();
                if result.has_collision() {
                    return Err(Declined("a SHA-1 collision"));
                }
                Ok(ObjectId::new(result.hash()))
            }
            Self::Sha256(hasher) => Ok(ObjectId::new(&hasher.finalize())),
        }
    }
}
