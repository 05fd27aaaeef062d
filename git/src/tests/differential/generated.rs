//! Generated repositories of every form that git can store.

use super::*;
use crate::tests::{STEPS, VARIANTS};
