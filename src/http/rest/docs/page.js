"use strict";
// All text from the broker goes into the page as text, never as markup.

function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

let named = {};

// The schema itself, or the named one that it refers to.
function resolved(schema) {
  return schema.$ref ? { ...named[schema.$ref.split("/").pop()], ...schema } : schema;
}

// An example value that holds only what the schema requires.
function skeleton(given) {
  const schema = resolved(given);
  if (schema.enum) return schema.enum[0];
  if (schema.type === "object") {
    const required = schema.required ?? [];
    return Object.fromEntries(required.map((name) => [name, skeleton(schema.properties[name])]));
  }
  return { array: [], integer: 1, number: 0, boolean: false }[schema.type] ?? "";
}

function field(parameter) {
  const label = element("span", { textContent: parameter.name, className: parameter.required ? "required" : "" });
  const input = element("input", { name: parameter.name, required: parameter.required ?? false });
  const schema = resolved(parameter.schema);
  input.placeholder = (schema.enum ?? [schema.type]).join(" | ");
  return element("label", {}, label, input, element("small", { textContent: parameter.description ?? "" }));
}

function address(path, parameters, form) {
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) {
    const value = form.elements.namedItem(name).value;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === "query" && value) query.append(name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

async function send(method, url, parameters, form) {
  const headers = {};
  const token = document.getElementById("token").value.trim();
  if (token) headers.authorization = `Bearer ${token}`;
  for (const { name, in: place } of parameters) {
    const value = form.elements.namedItem(name).value;
    if (place === "header" && value) headers[name] = value;
  }
  const body = form.elements.namedItem("body")?.value;
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(url, { method, headers, body });
  const text = await answer.text();
  const kept = ["etag", "location", "link", "retry-after"].filter((name) => answer.headers.has(name));
  const head = [`${answer.status} ${answer.statusText}`, ...kept.map((name) => `${name}: ${answer.headers.get(name)}`)];
  const isJson = (answer.headers.get("content-type") ?? "").includes("json");
  return `${head.join("\n")}\n\n${isJson ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
}

function show(path, method, operation) {
  const parameters = operation.parameters ?? [];
  const form = element("form", {}, element("p", { textContent: operation.description ?? "" }), ...parameters.map(field));
  const schema = operation.requestBody?.content["application/json"].schema;
  if (schema) {
    const value = JSON.stringify(skeleton(schema), null, 2);
    form.append(element("label", {}, "Body", element("textarea", { name: "body", value, spellcheck: false })));
    const known = Object.entries(schema.properties).map(([name, field]) => `${name}: ${field.description ?? resolved(field).type}`);
    form.append(element("details", {}, element("summary", { textContent: "Fields" }), element("pre", { textContent: known.join("\n") })));
  }
  const output = element("pre", { hidden: true });
  form.append(element("button", { textContent: "Send" }), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "…";
    try {
      output.textContent = await send(method.toUpperCase(), address(path, parameters, form), parameters, form);
    } catch (error) {
      output.textContent = String(error);
    }
  });
  const title = [element("b", { textContent: method.toUpperCase() }), element("code", { textContent: path }), operation.summary];
  return element("details", {}, element("summary", {}, ...title), form);
}

async function start() {
  const api = await (await fetch("/api/v1/openapi.json")).json();
  named = api.components.schemas;
  document.getElementById("about").textContent = `${api.info.description} Version ${api.info.version}.`;
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(show(path, method, operation));
    }
  }
  const main = document.getElementById("operations");
  for (const [tag, shown] of groups) main.append(element("h2", { textContent: tag }), ...shown);
}

start();
