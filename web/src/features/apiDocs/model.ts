/** The OpenAPI document as the page shows it: operations by noun, their arguments and types, and examples. */

/** A part of a JSON Schema, as far as the document uses it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema | true>;
  required?: readonly string[];
  description?: string;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  additionalProperties?: Schema | boolean;
}

export type Types = Readonly<Record<string, Schema>>;

export interface Argument {
  name: string;
  place: "path" | "query" | "header" | "body";
  schema: Schema;
  isRequired: boolean;
  description: string;
}

export interface Operation {
  id: string;
  title: string;
  description: string;
  method: string;
  path: string;
  noun: string;
  /** The tool of agents that does the same. */
  tool: string | null;
  arguments: Argument[];
  answer: Schema | null;
  /** Whether it can be tried here: it changes nothing and answers with JSON. */
  canTry: boolean;
}

export interface ApiDocument {
  operations: Operation[];
  types: Types;
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const schemaOf = (value: unknown): Schema => objectOf(value) as Schema;

/** Reads the document. What it does not understand, it leaves out. */
export function readDocument(document: unknown): ApiDocument {
  const root = objectOf(document);
  const types = objectOf(objectOf(root.components).schemas) as Record<string, Schema>;
  const operations = Object.entries(objectOf(root.paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, value]) => readOperation(method, path, objectOf(value))),
  );
  return { operations, types };
}

function readOperation(method: string, path: string, value: Json): Operation {
  const body = schemaOf(objectOf(objectOf(objectOf(value.requestBody).content)["application/json"]).schema);
  const required = new Set(body.required ?? []);
  const inBody = Object.entries(body.properties ?? {}).map(([name, given]): Argument => {
    const schema = schemaOf(given);
    return { name, place: "body", schema, isRequired: required.has(name), description: schema.description ?? "" };
  });
  const others = (Array.isArray(value.parameters) ? value.parameters : []).map((given): Argument => {
    const { name, in: place, schema, required: isRequired, description } = objectOf(given);
    return {
      name: textOf(name),
      place: place as Argument["place"],
      schema: schemaOf(schema),
      isRequired: isRequired === true,
      description: textOf(description),
    };
  });
  const answers = objectOf(objectOf(value.responses)["200"] ?? objectOf(value.responses)["201"]);
  const answer = objectOf(objectOf(answers.content)["application/json"]).schema;
  return {
    id: textOf(value.operationId),
    title: textOf(value.summary),
    description: textOf(value.description),
    method: method.toUpperCase(),
    path,
    noun: textOf(Array.isArray(value.tags) ? value.tags[0] : ""),
    tool: textOf(value["x-tool"]) || null,
    arguments: [...others, ...inBody].sort((a, b) => Number(b.isRequired) - Number(a.isRequired)),
    answer: answer === undefined ? null : schemaOf(answer),
    canTry: method === "get" && answer !== undefined,
  };
}

/** Operations by noun, those that contain every word. */
export function byNoun(operations: readonly Operation[], q = ""): [noun: string, operations: Operation[]][] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const names = operation.arguments.map(({ name }) => name).join(" ");
    const { id, title, description, path, noun, method } = operation;
    const text = `${id} ${title} ${description} ${method} ${path} ${noun} ${names}`.toLowerCase();
    if (words.every((word) => text.includes(word))) groups.set(noun, [...(groups.get(noun) ?? []), operation]);
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b));
}

/** The name of the type that a schema refers to, also as the items of a list. */
export function typeNameOf(schema: Schema): string | null {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? null;
  return schema.items === undefined ? null : typeNameOf(schema.items);
}

/** "Status", "string", "Issue[]", "old | new": the type in words. */
export function typeWords(schema: Schema | true | undefined): string {
  if (schema === undefined || schema === true) return "any value";
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "object";
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(typeWords).join(" | ");
  const [only] = schema.allOf ?? [];
  if (only !== undefined) return typeWords(only);
  if (schema.items !== undefined) return `${typeWords(schema.items)}[]`;
  return [schema.type ?? "any value"].flat().join(" | ");
}

/** The values of a named type that is a list of words. */
export function wordsOf(schema: Schema, types: Types): readonly string[] | null {
  const name = schema.$ref === undefined ? null : typeNameOf(schema);
  const values = name === null ? schema.enum : (types[name]?.enum ?? null);
  return values == null ? null : values.filter((value) => typeof value === "string");
}

const EXAMPLES: Record<string, unknown> = { review_id: "R-12", issue_id: "I-41", reviewer_id: "ada", round: 1 };

/** A value that fits, for an example. */
export function exampleOf({ name, schema }: Pick<Argument, "name" | "schema">, types: Types): unknown {
  const known = EXAMPLES[name];
  if (known !== undefined) return known;
  const words = wordsOf(schema, types);
  if (words !== null && words[0] !== undefined) return words[0];
  const named = schema.$ref === undefined ? schema : (types[typeNameOf(schema) ?? ""] ?? schema);
  switch ([named.type].flat()[0]) {
    case "array":
      return [];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "object":
      return Object.fromEntries(
        (named.required ?? []).map((field) => {
          const given = named.properties?.[field];
          return [field, exampleOf({ name: field, schema: given === undefined || given === true ? {} : given }, types)];
        }),
      );
    default:
      return `a ${name.replaceAll("_", " ")}`;
  }
}

/** The same call with curl, with what it requires. */
export function curlLine(operation: Operation, types: Types, origin: string): string {
  const required = operation.arguments.filter(({ isRequired }) => isRequired);
  const path = required
    .filter(({ place }) => place === "path")
    .reduce(
      (url, one) => url.replace(`{${one.name}}`, encodeURIComponent(String(exampleOf(one, types)))),
      operation.path,
    );
  const query = new URLSearchParams(
    required.filter(({ place }) => place === "query").map((one) => [one.name, String(exampleOf(one, types))]),
  );
  const url = `${origin}${path}${query.size > 0 ? `?${query}` : ""}`;
  const method = operation.method === "GET" ? "" : operation.method === "POST" ? "-X POST " : `-X ${operation.method} `;
  if (operation.method === "GET" || operation.method === "DELETE") return `curl -s ${method}'${url}'`;
  const body = required.filter(({ place }) => place === "body").map((one) => [one.name, exampleOf(one, types)]);
  const json = JSON.stringify(Object.fromEntries(body)).replaceAll("'", "'\\''");
  return `curl -s ${method}'${url}' -H 'content-type: application/json' -d '${json}'`;
}

/** The address of a call with these values. Empty ones are left out. `null`: a part of the path is missing. */
export function addressOf(operation: Operation, values: ReadonlyMap<string, string>): string | null {
  let path = operation.path;
  const query = new URLSearchParams();
  for (const { name, place } of operation.arguments) {
    const value = values.get(name)?.trim() ?? "";
    if (place === "path") {
      if (value === "") return null;
      path = path.replace(`{${name}}`, encodeURIComponent(value));
    } else if (place === "query" && value !== "") query.append(name, value);
  }
  return query.size > 0 ? `${path}?${query}` : path;
}
