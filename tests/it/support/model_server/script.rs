//! What the model does, step by step, and where a conversation stands in it.

use serde_json::{Map, Value};

use super::gate::Gate;
use super::values::{fill, find, plain};

/// Steps in order. `save`, `expect` and `until` speak of the call before them.
#[derive(Clone, Default)]
pub(crate) struct Script {
    vars: Map<String, Value>,
    steps: Vec<Step>,
    last_words: String,
    /// `finish` sets the final text.
    plainly: bool,
}

#[derive(Clone)]
enum Step {
    Call(Call),
    Gate(Gate),
    /// The model says this, which ends the run of its client. Another run may continue the conversation.
    EndTurn(String),
}

/// Begins every text that ends a turn, so that it is found again in the conversation.
pub(super) const TURN_END: &str = "TURN-END";

#[derive(Clone)]
struct Call {
    tool: String,
    args: Value,
    until: Option<(String, usize)>,
    save: Vec<(String, String)>,
    expect: Vec<(String, Value)>,
}

/// The next reply of the model.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Call { tool: String, args: Value },
    Text(String),
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A fixed value for `${name}` in arguments, expectations and the final text.
    pub(crate) fn var(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.vars.insert(name.to_owned(), value.into());
        self
    }

    /// Calls a tool of the broker, or one of the client's own by its exact name.
    pub(crate) fn call(mut self, tool: &str, args: Value) -> Self {
        self.steps.push(Step::Call(Call {
            tool: tool.to_owned(),
            args,
            until: None,
            save: Vec::new(),
            expect: Vec::new(),
        }));
        self
    }

    /// Repeats the call until its result has `key`, `max` times at most. Failed calls count too.
    pub(crate) fn until(mut self, key: &str, max: usize) -> Self {
        self.last_call().until = Some((key.to_owned(), max));
        self
    }

    /// Keeps the first `key` found anywhere in the result, as `${key}`.
    pub(crate) fn save(self, key: &str) -> Self {
        self.save_as(key, key)
    }

    pub(crate) fn save_as(mut self, name: &str, key: &str) -> Self {
        self.last_call().save.push((name.to_owned(), key.to_owned()));
        self
    }

    /// The first `key` found anywhere in the result must have this value.
    pub(crate) fn expect(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.last_call().expect.push((key.to_owned(), value.into()));
        self
    }

    /// The model ends its turn with these words. The steps after it are for the next run of the client.
    pub(crate) fn end_turn(mut self, words: &str) -> Self {
        self.steps.push(Step::EndTurn(format!("{TURN_END} {words}")));
        self
    }

    /// The model waits here for the test.
    pub(crate) fn gate(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Gate(gate.clone()));
        self
    }

    /// The final text after `SCRIPT-OK`.
    pub(crate) fn finish(mut self, last_words: &str) -> Self {
        self.last_words = last_words.to_owned();
        self
    }

    /// The complete final text.
    pub(crate) fn answer(mut self, words: &str) -> Self {
        (self.last_words, self.plainly) = (words.to_owned(), true);
        self
    }

    fn last_call(&mut self) -> &mut Call {
        match self.steps.last_mut() {
            Some(Step::Call(call)) => call,
            Some(Step::Gate(_) | Step::EndTurn(_)) | None => panic!("the step before this one is not a call"),
        }
    }

    /// The tools of the script, for clients that load them by name first.
    pub(super) fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = Vec::new();
        for step in &self.steps {
            if let Step::Call(call) = step
                && !tools.contains(&call.tool.as_str())
            {
                tools.push(&call.tool);
            }
        }
        tools
    }

    /// The reply to a conversation in which the calls so far had these results, after the gates
    /// on the way to it.
    pub(super) async fn next(&self, results: &[String]) -> Reply {
        let (gates, reply) = self.position(results);
        for gate in gates {
            gate.pass().await;
        }
        reply
    }

    fn position(&self, results: &[String]) -> (Vec<&Gate>, Reply) {
        match self.walk(results) {
            Ok(position) => position,
            Err(why) => (Vec::new(), Reply::Text(format!("SCRIPT-FAILED {why}"))),
        }
    }

    fn walk(&self, results: &[String]) -> Result<(Vec<&Gate>, Reply), String> {
        let mut vars = self.vars.clone();
        let mut results = results.iter();
        let mut gates = Vec::new();
        for step in &self.steps {
            let call = match step {
                Step::Gate(gate) => {
                    gates.push(gate);
                    continue;
                }
                Step::EndTurn(words) => {
                    if results.next().is_none() {
                        return Ok((gates, Reply::Text(words.clone())));
                    }
                    gates.clear();
                    continue;
                }
                Step::Call(call) => call,
            };
            let Some(result) = call.accepted(&mut results)? else {
                let args = fill(&call.args, &vars)?;
                return Ok((gates, Reply::Call { tool: call.tool.clone(), args }));
            };
            gates.clear();
            call.judge(result, &mut vars)?;
        }
        let words = fill(&Value::String(self.last_words.clone()), &vars)?;
        let words = if self.plainly { plain(&words) } else { format!("SCRIPT-OK {}", plain(&words)) };
        Ok((gates, Reply::Text(words.trim_end().to_owned())))
    }
}

impl Call {
    /// The result that ends this step; `None` if the call has to be made (again).
    fn accepted<'a>(&self, results: &mut impl Iterator<Item = &'a String>) -> Result<Option<&'a str>, String> {
        let Some((key, max)) = &self.until else {
            return Ok(results.next().map(String::as_str));
        };
        let mut last = "";
        for _ in 0..*max {
            match results.next() {
                None => return Ok(None),
                Some(result) if find(result, key).is_some() => return Ok(Some(result)),
                Some(result) => last = result,
            }
        }
        Err(format!("{}: no {key} after {max} calls, last: {}", self.tool, start_of(last)))
    }

    fn judge(&self, result: &str, vars: &mut Map<String, Value>) -> Result<(), String> {
        for (name, key) in &self.save {
            let value = find(result, key).ok_or_else(|| format!("{}: no {key} in {}", self.tool, start_of(result)))?;
            vars.insert(name.clone(), value);
        }
        for (key, wanted) in &self.expect {
            let wanted = fill(wanted, vars)?;
            let found = find(result, key).unwrap_or(Value::Null);
            if found != wanted {
                return Err(format!("{}: {key} is {found}, not {wanted}, in {}", self.tool, start_of(result)));
            }
        }
        Ok(())
    }
}

fn start_of(result: &str) -> String {
    result.chars().take(400).collect()
}
