//! Turns: who went when in the chaos of a run, by name, so that they can be followed after a change of code, of plan or of the turns themselves. Recording
//! them is in `recorder`, following them in `guided`.

use crate::trace::CallKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Who went when in the chaos of a run. Stored as its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Turns {
    /// The tasks that went, with all calls that each made, in its order.
    pub tasks: Arc<Vec<TaskCalls>>,
    /// Who went, and how far: one for each change of task.
    pub turns: Vec<Turn>,
    /// Calls that the strategy made take another time than was drawn.
    pub delays: Arc<Vec<Delay>>,
    /// How often a task was left that could have gone on. The text does not tell it: read back, it is 0.
    pub preemptions: u64,
    /// Steps of the chaos.
    pub steps: u64,
}

/// A task of a life of a process, and its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCalls {
    /// Whose.
    pub name: TaskName,
    /// The calls that were picked, in order. One that had to wait is there each time that it was picked.
    pub calls: Vec<CallKind>,
    /// Where it began operations of the plan: how many calls it had made, and the operation's id.
    pub operations: Vec<(u32, u64)>,
}

/// A task's name: it depends on nothing that another process does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskName {
    /// The process's name.
    pub process: String,
    /// Which of its lives; the first is 1.
    pub boot: u32,
    /// Which of its tasks; the main task is 0.
    pub ordinal: u32,
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.process, self.boot, self.ordinal)
    }
}

/// A task goes, until so many of its calls are behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which task: an index into [`Turns::tasks`].
    pub task: u32,
    /// The number of its calls that it has made when its turn is over.
    pub until: u32,
}

/// A call that takes another time than was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay {
    /// Whose call: an index into [`Turns::tasks`].
    pub task: u32,
    /// How many calls the task had made when it announced this one.
    pub call: u32,
    /// Its kind.
    pub kind: CallKind,
    /// Its latency, in simulated nanoseconds.
    pub delay_ns: u64,
}

impl Turns {
    /// The most calls that a text may tell of. Each costs a byte of memory, and `CALL*COUNT` tells of many in a few bytes of text.
    pub const CALLS_MAX: u64 = 1 << 27;

    /// The most tasks that a text may tell of. Each costs some 200 bytes of memory.
    pub const TASKS_MAX: usize = 1 << 20;

    /// The turns as text, one in a line: `PROCESS.BOOT/TASK CALL CALL*COUNT #OPERATION …`, and `delay PROCESS.BOOT/TASK NUMBER CALL NANOSECONDS`.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut made = vec![(0_usize, 0_usize); self.tasks.len()];
        for turn in &self.turns {
            let (task, (made, begun)) = (&self.tasks[turn.task as usize], &mut made[turn.task as usize]);
            text.push_str(&task.name.to_string());
            let until = (turn.until as usize).min(task.calls.len());
            loop {
                let next = task.operations.get(*begun).map(|(at, id)| (*at as usize, *id));
                if let Some((_, id)) = next.filter(|(at, _)| at <= made) {
                    text.push_str(&format!(" #{id}"));
                    *begun += 1;
                    continue;
                }
                if *made >= until {
                    break;
                }
                let end = next.map_or(until, |(at, _)| at.min(until));
                let kind = task.calls[*made];
                let count = task.calls[*made..end].iter().take_while(|other| **other == kind).count();
                text.push(' ');
                text.push_str(kind.name());
                if count > 1 {
                    text.push_str(&format!("*{count}"));
                }
                *made += count;
            }
            text.push('\n');
        }
        for Delay { task, call, kind, delay_ns } in self.delays.iter() {
            text.push_str(&format!("delay {} {call} {kind} {delay_ns}\n", self.tasks[*task as usize].name));
        }
        text
    }

    /// Reads what [`Turns::to_text`] has written. How many were preemptions is not told there.
    ///
    /// # Errors
    /// Which line is wrong, and what is allowed.
    pub fn from_text(text: &str) -> Result<Turns, String> {
        let mut reading = Reading::default();
        for (index, line) in text.lines().enumerate() {
            reading.line(line).map_err(|why| format!("line {}: {why}", index + 1))?;
        }
        let Reading { tasks, turns, delays, steps, .. } = reading;
        Ok(Turns { tasks: Arc::new(tasks), turns, delays: Arc::new(delays), preemptions: 0, steps })
    }
}

impl From<Turns> for String {
    fn from(turns: Turns) -> String {
        turns.to_text()
    }
}

impl TryFrom<String> for Turns {
    type Error = String;

    fn try_from(text: String) -> Result<Turns, String> {
        Turns::from_text(&text)
    }
}

#[derive(Default)]
struct Reading {
    tasks: Vec<TaskCalls>,
    by_name: BTreeMap<TaskName, u32>,
    turns: Vec<Turn>,
    delays: Vec<Delay>,
    steps: u64,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let wrong = || {
            format!(
                "`{line}` is neither `PROCESS.BOOT/TASK CALL…` nor `delay PROCESS.BOOT/TASK NUMBER CALL NANOSECONDS`"
            )
        };
        let mut words = line.split_whitespace();
        let first = words.next().ok_or_else(wrong)?;
        if first == "delay" {
            let words: Vec<&str> = words.collect();
            let [name, call, kind, delay_ns] = words[..] else { return Err(wrong()) };
            let task = self.task(task_name(name).ok_or_else(wrong)?)?;
            let (call, delay_ns) = (call.parse().map_err(|_| wrong())?, delay_ns.parse().map_err(|_| wrong())?);
            let kind = call_named(kind).ok_or_else(|| format!("there is no call `{kind}`"))?;
            self.delays.push(Delay { task, call, kind, delay_ns });
            return Ok(());
        }
        let task = self.task(task_name(first).ok_or_else(wrong)?)?;
        for word in words {
            if let Some(id) = word.strip_prefix('#') {
                let TaskCalls { calls, operations, .. } = &mut self.tasks[task as usize];
                operations.push((calls.len() as u32, id.parse().map_err(|_| wrong())?));
                continue;
            }
            let (name, count) = match word.split_once('*') {
                Some((name, count)) => (name, Some(count)),
                None => (word, None),
            };
            let kind = call_named(name).ok_or_else(|| format!("there is no call `{name}`"))?;
            // Whatever is no number at all is wrong in the same way as one that is too large.
            let count = count.map_or(Some(1), |count| count.parse().ok().filter(|count| *count > 0));
            let within = count.filter(|count: &u64| *count <= Turns::CALLS_MAX - self.steps);
            let count = within.ok_or_else(|| {
                let (max, before) = (Turns::CALLS_MAX, self.steps);
                format!("`{word}`: the count must be a whole number from 1, and all counts together at most {max}; before it are {before}")
            })?;
            self.steps += count;
            self.tasks[task as usize].calls.extend(std::iter::repeat_n(kind, count as usize));
        }
        self.turns.push(Turn { task, until: self.tasks[task as usize].calls.len() as u32 });
        Ok(())
    }

    fn task(&mut self, name: TaskName) -> Result<u32, String> {
        if let Some(index) = self.by_name.get(&name) {
            return Ok(*index);
        }
        if self.tasks.len() >= Turns::TASKS_MAX {
            return Err(format!("`{name}` is one task too many: at most {} are allowed", Turns::TASKS_MAX));
        }
        let index = self.tasks.len() as u32;
        self.by_name.insert(name.clone(), index);
        self.tasks.push(TaskCalls { name, calls: Vec::new(), operations: Vec::new() });
        Ok(index)
    }
}

fn task_name(text: &str) -> Option<TaskName> {
    let (rest, ordinal) = text.rsplit_once('/')?;
    let (process, boot) = rest.rsplit_once('.')?;
    Some(TaskName { process: process.to_owned(), boot: boot.parse().ok()?, ordinal: ordinal.parse().ok()? })
}

fn call_named(name: &str) -> Option<CallKind> {
    CallKind::ALL.iter().copied().find(|kind| kind.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "agent-0.1/0 boot #7 pread*3 #7 #8\nagent-1.1/0 boot flock\nagent-0.1/0 fsync\nagent-0.2/1 start\ndelay agent-1.1/0 1 flock 9000\ndelay agent-7.1/0 0 boot 5\n";

    #[test]
    fn turns_survive_their_text() {
        let turns = Turns::from_text(TEXT).expect("turns");
        assert_eq!(turns.to_text(), TEXT);
        assert_eq!((turns.steps, turns.turns.len(), turns.tasks.len()), (8, 4, 4));
        assert_eq!(turns.turns[2], Turn { task: 0, until: 5 });
    }

    #[test]
    fn what_are_no_turns_is_refused_by_its_line() {
        for line in [
            "",
            "agent-0/0 boot",
            "agent-0.1 boot",
            "agent-0.1/0 nosuchcall",
            "agent-0.1/0 boot*x",
            "agent-0.1/0 boot*0",
            "agent-0.1/0 boot*-1",
            "agent-0.1/0 #x boot",
            "delay agent-0.1/0 1 flock",
        ] {
            let why = Turns::from_text(&format!("agent-0.1/0 boot\n{line}\n")).expect_err(line);
            assert!(why.starts_with("line 2: "), "{line}: {why}");
        }
    }

    #[test]
    fn counts_that_no_memory_holds_are_refused() {
        let half = Turns::CALLS_MAX / 2 + 1;
        for (line, word) in [
            ("agent-0.1/0 pread*99999999999999".to_owned(), "pread*99999999999999"),
            (format!("agent-0.1/0 pread*{}", u64::MAX), "pread*18446744073709551615"),
            (format!("agent-0.1/0 pread*{}", u128::MAX), "pread*340282366920938463463374607431768211455"),
            (format!("agent-0.1/0 pread*{half} fsync*{half}"), &format!("fsync*{half}")),
        ] {
            let why = Turns::from_text(&format!("agent-0.1/0 boot\n{line}\n")).expect_err(&line);
            assert!(why.starts_with(&format!("line 2: `{word}`: ")), "{why}");
            assert!(why.contains("at most 134217728"), "{why}");
        }
        let most = Turns::from_text(&format!("agent-0.1/0 pread*{}\n", Turns::CALLS_MAX)).expect("it is allowed");
        assert_eq!(most.steps, Turns::CALLS_MAX);
        let names: String = (0..=Turns::TASKS_MAX).map(|ordinal| format!("a.1/{ordinal}\n")).collect();
        let why = Turns::from_text(&names).expect_err("one task too many");
        assert!(why.starts_with("line 1048577: `a.1/1048576` is one task too many"), "{why}");
    }
}
