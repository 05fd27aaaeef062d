/** A reviewer of the pool: takes every review it finds, says so in colour, and approves it. */
const { COUNTERSIGN_MCP_URL: url, COUNTERSIGN_TOKEN: token } = process.env;

async function call(tool, args) {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } }),
  });
  return (await answer.json()).result.structuredContent;
}

console.log("waits for work");
for (;;) {
  const queue = await call("list_reviews", { status: "pending", wait: true });
  if (queue.draining) break;
  for (const { review_id, number } of queue.reviews) {
    const claim = await call("claim_review", { review_id });
    if ("code" in claim) continue;
    console.log(`\u001b[33mreads ${number}\u001b[0m`);
    const { claim_generation, content_hash } = claim;
    await call("submit_verdict", { review_id, claim_generation, content_hash, verdict: "approved" });
    console.log(`\u001b[32mapproved ${number}\u001b[0m`);
  }
}
console.log("goes");
