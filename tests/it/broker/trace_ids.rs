//! Traces: a collector gets a span for every request and every call, under the id that the caller sees; one that is
//! not well is nobody's trouble.

use crate::support::{
    broker::TestBroker,
    client::proposal,
    http_receiver::{Manner, Receiver},
    rest_client::sent,
    wait_until::eventually,
};
use serde_json::{Value, json};

fn telemetry(endpoint: &str) -> String {
    format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\n")
}

/// The spans of this trace, once there are so many.
async fn spans_of(collector: &mut Receiver, trace: &str, count: usize) -> Vec<Value> {
    let mut spans = Vec::new();
    while spans.len() < count {
        let got = collector.next().await;
        assert_eq!((got.path.as_str(), got.header("content-type")), ("/v1/traces", "application/json"));
        let body = got.json();
        let all = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "countersign");
        spans.extend(all.into_iter().filter(|span| span["traceId"] == trace));
    }
    assert_eq!(spans.len(), count);
    spans
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = found.unwrap_or_else(|| panic!("no {key}: {span}"))["value"].as_object().unwrap();
    value.values().next().unwrap()
}

/// The span of the request and that of the call in it.
fn sorted(spans: &[Value]) -> (&Value, &Value) {
    let of_kind = |kind: u64| spans.iter().find(|span| span["kind"] == kind).unwrap();
    (of_kind(2), of_kind(1))
}

#[tokio::test]
async fn a_call_is_a_span_under_the_id_that_its_caller_sees() {
    let mut collector = Receiver::start().await;
    let broker = TestBroker::with(&telemetry(&collector.url(""))).await;
    let answer = broker.rest().post("/reviews", proposal("a secret plan")).await;
    let review = answer.is(201)["review_id"].clone();
    let trace = answer.header("x-trace-id").unwrap().to_owned();
    let spans = spans_of(&mut collector, &trace, 2).await;
    let (request, call) = sorted(&spans);
    assert_eq!(request["name"], "POST /api/v1/reviews");
    assert_eq!(attribute(request, "http.response.status_code"), "201");
    assert_eq!(attribute(request, "http.route"), "/api/v1/reviews");
    assert_eq!((&call["name"], &call["parentSpanId"]), (&"create_review".into(), &request["spanId"]));
    assert_eq!(request.get("parentSpanId"), None);
    assert_eq!(attribute(call, "countersign.outcome"), "ok");
    assert_eq!(*attribute(call, "countersign.review_id"), review);
    let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    for span in &spans {
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span}");
        assert!(!span.to_string().contains("secret plan"), "{span}");
    }
    assert!(broker.log().lines().any(|line| line.contains("create_review") && line.contains(&trace)));

    let get = sent(broker.rest().request("GET", "/reviews/R-99").header("x", "y")).await;
    get.refused(404, "unknown_review");
    let spans = spans_of(&mut collector, get.header("x-trace-id").unwrap(), 2).await;
    let (request, call) = sorted(&spans);
    assert_eq!(request["name"], "GET /api/v1/reviews/{review_id}");
    assert_eq!((attribute(call, "countersign.outcome"), &call["status"]), (&"unknown_review".into(), &json!({})));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_caller_that_is_traced_is_joined_and_one_that_does_not_want_to_be_is_not() {
    let mut collector = Receiver::start().await;
    let broker = TestBroker::with(&telemetry(&collector.url("/"))).await;
    let params = json!({ "name": "list_reviews", "arguments": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let call = async |trace: char, flags: &str| {
        let trace = trace.to_string().repeat(32);
        let request = reqwest::Client::new().post(broker.mcp_url()).json(&body);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("traceparent", format!("00-{trace}-b7ad6b7169203331-{flags}"));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["x-trace-id"].to_str().unwrap(), trace);
        trace
    };
    let unwanted = call('b', "00").await;
    let wanted = call('a', "01").await;
    let got = collector.next().await;
    let text = String::from_utf8_lossy(&got.body).into_owned();
    assert!(!text.contains(&unwanted), "{text}");
    let spans = got.json()["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let (request, call) = sorted(&spans);
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&json!(wanted), &"b7ad6b7169203331".into()));
    assert_eq!((&call["name"], &call["parentSpanId"]), (&"list_reviews".into(), &request["spanId"]));
    assert_eq!(request["name"], "POST /mcp");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn what_waits_is_sent_at_the_end() {
    let mut collector = Receiver::start().await;
    let mut broker = TestBroker::with(&telemetry(&collector.url(""))).await;
    let answer = broker.rest().post("/reviews", proposal("the last one")).await;
    assert!(broker.terminate().await.success(), "{}", broker.log());
    spans_of(&mut collector, answer.header("x-trace-id").unwrap(), 2).await;
}

#[tokio::test]
async fn a_collector_that_is_not_there_or_does_not_answer_troubles_nobody() {
    let hangs = Receiver::start().await;
    hangs.now(Manner::Hang);
    let gone = Receiver::start().await.url("");
    for endpoint in [hangs.url(""), gone.clone()] {
        let mut broker = TestBroker::with(&telemetry(&endpoint)).await;
        let client = broker.client();
        for number in 0..20 {
            let review = client.submit(&format!("review {number}")).await;
            client.claim(&review, "ada").await;
        }
        if endpoint == gone {
            eventually("the drops are counted", async || {
                let metrics = reqwest::get(broker.url("/metrics")).await.unwrap().text().await.unwrap();
                let count =
                    metrics.lines().find_map(|line| line.strip_prefix("countersign_trace_spans_dropped_total "));
                count.unwrap().parse::<f64>().ok().filter(|count| *count > 0.0)
            })
            .await;
            assert_eq!(broker.log().matches("the collector takes no traces").count(), 1);
        }
        assert!(broker.terminate().await.success(), "{}", broker.log());
    }
}

#[tokio::test]
async fn without_a_collector_there_are_no_spans() {
    let broker = TestBroker::start().await;
    broker.client().submit("unseen").await;
    let metrics = reqwest::get(broker.url("/metrics")).await.unwrap().text().await.unwrap();
    assert!(!metrics.contains("trace_spans"), "{metrics}");
    broker.stop_and_check().await;
}
