//! What contradiction-avalanche is drawn from: beliefs and records in words. The scenario itself is in `contradiction_avalanche`.

pub mod records;
pub mod universe;
pub mod workload;
