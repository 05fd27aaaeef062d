//! Settings, personas and the data folder.
