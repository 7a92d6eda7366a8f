//! Trace files: what a run tells is what a reader gets, and a file that is cut short, damaged, newer or something else is told with its place.

use seedstorm_sim::plan::{FaultKind, FaultPlan, OptionsError, StrategyPlan, Trigger};
use seedstorm_sim::sys::OpenFlags;
use seedstorm_sim::sys::disk::Persistence;
use seedstorm_sim::trace::file::{
    Ending, FORMAT, FRAME_BYTES_MAX, FileWriter, Head, MAGIC, Problem, Reader, TraceError, Writer,
};
use seedstorm_sim::trace::{CallKind, Event, Record, RecordBody, TraceHash};
use seedstorm_sim::{Draw, Exit, Options, Outcome, Plan, Scenario, Seed, Settings, View, World, run};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use twox_hash::XxHash3_64;

/// Three processes that write and sync; the byte that the second one writes is given, and how often.
struct Writes {
    byte: u8,
    rounds: u64,
}

impl Scenario for Writes {
    fn name(&self) -> &'static str {
        "writes"
    }

    fn about(&self) -> &'static str {
        "a test"
    }

    fn plan(&self, seed: Seed, _options: &Options) -> Result<Plan, OptionsError> {
        let (kind, when) = (FaultKind::Kill, Trigger::Call { kind: CallKind::Sync, nth: 3 });
        let kill = FaultPlan { id: 1, kind, process: Some("a-2".into()), when, for_ns: 0, by_ns: 0, between: None };
        Ok(Plan {
            persistence: Persistence::Ext4,
            chaos_ns: 1_000_000_000,
            calm_ns: 10_000_000_000,
            steps_max: 1_000_000,
            faults: vec![kill],
            ..Plan::plain(self.name(), seed)
        })
    }

    fn populate(&self, _plan: &Plan, world: &mut World) {
        let Writes { byte, rounds } = *self;
        for index in 0..3 {
            world.process("a", index, move |sys| async move {
                let file = sys.open("/f", OpenFlags::WRITE.create().append()).await.expect("open");
                for round in 0..rounds {
                    let bytes =
                        [if index == 1 && round == rounds / 2 { byte } else { sys.entropy().bits() as u8 }; 100];
                    file.write(&bytes).await.expect("write");
                    file.sync().await.expect("fsync");
                }
                Exit::success()
            });
        }
    }

    fn coverage(&self) -> &'static [&'static str] {
        &[]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// A run, the file of its trace, and its records as a listener saw them.
fn traced(scenario: &Writes) -> (Outcome, Vec<u8>, Vec<Record>) {
    let plan = scenario.plan(Seed(5), &Options::default()).expect("no option is wrong");
    let writer = Writer::new(Vec::new());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (mut to_file, to_memory) = (writer.listener(), seen.clone());
    let listener = move |event: &Event<'_>, view: &View<'_>| {
        to_file(event, view);
        to_memory.lock().expect("whole").push(Record::from(event));
    };
    let settings = Settings { listener: Some(Box::new(listener)), ..Settings::default() };
    let outcome = run(scenario, &plan, settings).expect("it can be run");
    assert!(outcome.passed(), "{:?}", outcome.violations);
    let bytes = writer.finish(outcome.trace_hash, Some(Ending::from(&outcome))).expect("memory takes everything");
    let records = std::mem::take(&mut *seen.lock().expect("whole"));
    (outcome, bytes, records)
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    Reader::new(bytes)?.collect()
}

#[test]
fn a_run_s_trace_comes_back_whole() {
    let scenario = Writes { byte: 1, rounds: 2000 };
    let (outcome, bytes, records) = traced(&scenario);
    let mut reader = Reader::new(bytes.as_slice()).expect("it is a trace");
    let names = ["a-0", "a-1", "a-2"].map(str::to_owned).to_vec();
    let plan = scenario.plan(Seed(5), &Options::default()).expect("no option is wrong");
    let (seed, strategy) = (Seed(5), StrategyPlan::Random);
    let head = Head { scenario: "writes".into(), seed, strategy, processes: names, plan: plan.to_toml() };
    assert_eq!(reader.head(), &head);
    assert_eq!(reader.tail(), None, "not before the last event");
    let read: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().expect("it is whole");
    assert_eq!(read, records);
    let tail = reader.tail().expect("all events were read");
    assert_eq!((tail.events, tail.trace_hash), (outcome.events, outcome.trace_hash));
    assert_eq!(tail.ending, Some(Ending::from(&outcome)));
    assert_eq!(tail.ending.as_ref().map(|ending| ending.measurements.faults[&FaultKind::Kill]), Some(1));
    let unlistened = run(&scenario, &scenario.plan(Seed(5), &Options::default()).expect("right"), Settings::default());
    assert_eq!(unlistened.expect("it runs").trace_hash, outcome.trace_hash, "writing a trace changes nothing");
    // Several frames, or the test shows less than it seems to: an event has over 100 bytes, a frame 256 KiB.
    assert!(records.len() > 10_000, "{} events", records.len());
}

#[test]
fn a_file_that_is_cut_short_anywhere_says_so() {
    let (_, bytes, records) = traced(&Writes { byte: 1, rounds: 5 });
    for len in 0..bytes.len() {
        let error = read(&bytes[..len]).expect_err("it is not whole");
        match error.problem {
            Problem::NotATrace(_) => assert!(len < MAGIC.len()),
            Problem::Truncated(_) => assert!(len >= MAGIC.len() && error.offset <= len as u64, "{error}"),
            problem => panic!("cut to {len} bytes: {problem}"),
        }
    }
    // What came before the cut is still read.
    let mut reader = Reader::new(&bytes[..bytes.len() - 1]).expect("the head is whole");
    let read: Vec<Record> = reader.by_ref().map_while(Result::ok).collect();
    assert_eq!(read, records);
    assert!(reader.next().is_none(), "after an error there is nothing");
}

#[test]
fn a_damaged_byte_anywhere_is_found() {
    let (_, bytes, _) = traced(&Writes { byte: 1, rounds: 5 });
    for at in 0..bytes.len() {
        for bit in [0, 7] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let Err(error) = read(&damaged) else { panic!("bit {bit} of byte {at} is wrong, and nobody minds") };
            assert!(error.offset <= bytes.len() as u64, "{error}");
            assert!(error.to_string().starts_with(&format!("byte {}: ", error.offset)), "{error}");
        }
    }
    let error = read(&[bytes.as_slice(), b"more"].concat()).expect_err("something follows");
    assert_eq!((error.offset, error.to_string().contains("something follows the end")), (bytes.len() as u64, true));
}

#[test]
fn what_is_no_trace_or_a_newer_one_or_asks_for_too_much_is_refused() {
    let error = |bytes: &[u8]| read(bytes).expect_err("it is no trace").to_string();
    assert_eq!(error(b""), "byte 0: this is no trace: it begins with nothing");
    assert_eq!(error(b"PK\x03\x04 and more"), "byte 0: this is no trace: it begins with 50 4b 03 04 20 61 6e 64");
    let newer = [MAGIC.as_slice(), &(FORMAT + 1).to_le_bytes(), b"whatever"].concat();
    assert_eq!(error(&newer), "byte 8: format 3 is newer than 2, the newest that this version reads");
    let older = error(&[MAGIC.as_slice(), &1u32.to_le_bytes(), b"whatever"].concat());
    assert!(older.starts_with("byte 8: format 1 is older than 2, the one that this version reads"), "{older}");
    let too_long = |lens: [u32; 2]| {
        let lens = lens.map(u32::to_le_bytes).concat();
        error(&[MAGIC.as_slice(), &FORMAT.to_le_bytes(), &lens, &[0; 100]].concat())
    };
    for lens in [[u32::MAX, 10], [10, u32::MAX], [FRAME_BYTES_MAX + 1, 10]] {
        assert!(too_long(lens).starts_with("byte 12: a frame of "), "{}", too_long(lens));
    }
    assert!(too_long([FRAME_BYTES_MAX, 10]).contains("ends within the head"), "{}", too_long([FRAME_BYTES_MAX, 10]));
    // A frame that grows to more than it announces.
    let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 1).expect("it compresses");
    let (lens, hash) =
        ([bomb.len() as u32, 10].map(u32::to_le_bytes).concat(), XxHash3_64::oneshot(&bomb).to_le_bytes());
    let bomb = [MAGIC.as_slice(), &FORMAT.to_le_bytes(), &lens, &hash, &bomb].concat();
    assert!(error(&bomb).starts_with("byte 12: the file is damaged"), "{}", error(&bomb));
}

/// Takes so many bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_writing_is_told_at_the_end_and_does_not_touch_the_run() {
    let scenario = Writes { byte: 1, rounds: 2000 };
    let plan = scenario.plan(Seed(5), &Options::default()).expect("no option is wrong");
    let plain = run(&scenario, &plan, Settings::default()).expect("it runs").trace_hash;
    for room in [0, 5, 13, 200, 100_000] {
        let writer = Writer::new(Full(room));
        let settings = Settings { listener: Some(writer.listener()), ..Settings::default() };
        let outcome = run(&scenario, &plan, settings).expect("it runs");
        assert_eq!((outcome.passed(), outcome.trace_hash), (true, plain));
        let error =
            writer.finish(outcome.trace_hash, Some(Ending::from(&outcome))).err().expect("it can't have been written");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

#[test]
fn a_byte_that_differs_differs_in_the_trace() {
    let (_, bytes, records) = traced(&Writes { byte: b'x', rounds: 10 });
    let (_, others, _) = traced(&Writes { byte: b'y', rounds: 10 });
    let (read, others) = (read(&bytes).expect("it is whole"), read(&others).expect("it is whole"));
    assert_eq!(read, records);
    let parts = read.iter().zip(&others).position(|(one, other)| one != other).expect("a byte differs");
    let is_it = |record: &Record| matches!(&record.body, RecordBody::Call { kind: CallKind::Write, data, .. } if data == &[b'x'; 100]);
    assert_eq!(Some(parts), records.iter().position(is_it));
}

#[test]
fn an_empty_trace_is_a_trace() {
    let writer = Writer::new(Vec::new());
    let bytes = writer.finish(TraceHash(7), None).expect("memory takes everything");
    let mut reader = Reader::new(bytes.as_slice()).expect("a trace");
    assert!(reader.next().is_none());
    assert_eq!(reader.tail().map(|tail| (tail.events, tail.trace_hash)), Some((0, TraceHash(7))));
}

#[test]
fn a_large_event_has_room() {
    let strategy = StrategyPlan::Timed;
    let head = Head { scenario: "large".into(), seed: Seed(1), strategy, processes: vec![], plan: String::new() };
    let body = RecordBody::Claim { kind: "large".into(), bytes: vec![3; 20 << 20] };
    let record = Record { step: 1, time_ns: 2, process: None, task: None, boot: 0, body };
    let mut writer = FileWriter::new(Vec::new(), &head).expect("memory takes everything");
    writer.event(&record.event()).expect("memory takes everything");
    let bytes = writer.finish(TraceHash(0), None).expect("memory takes everything");
    assert_eq!(read(&bytes).expect("it is whole"), [record]);
}
