import t from "tap";
import { z } from "zod";
import { ApiRoutes } from "../../../src/platform/http/api-routes.ts";
import { createDocsRoutes } from "../../../src/platform/http/docs-page.ts";
import { createHttpMetrics } from "../../../src/platform/http/http-metrics.ts";
import { createOpenApiDocument } from "../../../src/platform/http/openapi.ts";
import { createRouter } from "../../../src/platform/http/router.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { createSeededRandom } from "../../../src/platform/random/random.ts";
import { systemClock } from "../../../src/platform/time/clock.ts";

const owner = z.strictObject({ name: z.string().describe("Who it belongs to.") }).meta({ id: "Owner" });
const topic = z
  .strictObject({ name: z.string().max(10), partitions: z.int().min(1).default(3), owner: owner.optional() })
  .meta({ id: "Topic" });
const page = z.object({
  page: z.coerce.number().int().min(1).default(1).describe("From 1."),
  tag: z.union([z.string(), z.array(z.string())]).optional(),
});
const errorBody = z.object({ error: z.object({ code: z.string() }) }).meta({ id: "Error" });

function createApi(): ApiRoutes {
  const api = new ApiRoutes();
  api.add(
    {
      method: "post",
      path: "/topics",
      operationId: "createTopic",
      summary: "Create a topic",
      tag: "topics",
      body: topic,
      bodyExample: { name: "orders" },
      responses: { 201: { description: "Created.", schema: topic }, 409: { description: "It exists." } },
    },
    (context, { body }) => context.json(body, 201),
  );
  api.add(
    {
      method: "get",
      path: "/topics/{name}/parts/{part}",
      operationId: "listParts",
      summary: "List parts",
      tag: "topics",
      params: z.object({ name: z.string(), part: z.coerce.number().int() }),
      query: page,
      responses: { 200: { description: "Parts.", schema: z.array(topic), headers: { "X-Count": "How many." } } },
      isPublic: true,
    },
    (context, { params, query }) => context.json({ params, query }),
  );
  api.add(
    {
      method: "post",
      path: "/topics/{name}/clear",
      operationId: "clearTopic",
      summary: "Clear",
      tag: "topics",
      body: z.strictObject({ force: z.boolean().default(false) }),
      emptyBody: {},
      responses: { 200: { description: "Done." } },
      isDeprecated: true,
    },
    (context, { body }) => context.json(body),
  );
  api.describe({
    method: "get",
    path: "/metrics",
    operationId: "getMetrics",
    summary: "Metrics",
    tag: "operation",
    responses: { 200: { description: "Text.", mediaType: "text/plain" } },
  });
  return api;
}

function createApp() {
  const app = createRouter({
    name: "test",
    logger: silentLogger,
    metrics: createHttpMetrics(createMetrics(), "test"),
    clock: systemClock,
    random: createSeededRandom(1),
    errorBody: (error) => ({ error: { code: error.code, message: error.message } }),
    bodyLimitBytes: 1000,
  });
  const api = createApi();
  const document = createOpenApiDocument(api.specs, {
    title: "Test </script>",
    version: "1.2.3",
    securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "X-API-Key" } },
    tags: [{ name: "topics", description: "About topics." }],
    errorSchema: errorBody,
    commonErrors: { 400: "Bad input.", 500: "Our fault." },
  });
  app.route("/", api.app);
  app.route("/", createDocsRoutes({ document }));
  return { app, document };
}

t.test("a declared route gives its handler checked and typed input", async (t) => {
  const { app } = createApp();
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await app.request(path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
    return [response.status, await response.json()];
  };
  t.strictSame(await send("POST", "/topics", { name: "a" }), [201, { name: "a", partitions: 3 }]);
  t.match(await send("POST", "/topics", { name: "a", more: 1 }), [400, { error: { code: "INVALID_ARGUMENT" } }]);
  t.match(await send("POST", "/topics"), [400, { error: { code: "INVALID_JSON" } }]);
  t.strictSame(await send("GET", "/topics/a%2Fb/parts/7?page=2&tag=x&tag=y"), [
    200,
    { params: { name: "a/b", part: 7 }, query: { page: 2, tag: ["x", "y"] } },
  ]);
  t.strictSame(await send("GET", "/topics/a/parts/7"), [200, { params: { name: "a", part: 7 }, query: { page: 1 } }]);
  t.match(await send("GET", "/topics/a/parts/x"), [400, { error: { message: /"part"/ } }]);
  t.match(await send("GET", "/topics/a/parts/1?page=0"), [400, { error: { message: /"page"/ } }]);
  t.strictSame(await send("POST", "/topics/a/clear"), [200, { force: false }]);
});

t.test("the document describes what is enforced", async (t) => {
  const { app, document } = createApp();
  const served = await app.request("/openapi.json");
  t.equal(served.headers.get("content-type"), "application/json");
  t.strictSame(await served.json(), JSON.parse(JSON.stringify(document)));
  t.equal(document.openapi, "3.1.0");
  t.match(document, { security: [{ apiKey: [] }], tags: [{ name: "topics" }], info: { version: "1.2.3" } });
  t.strictSame(Object.keys(document.paths), [
    "/topics",
    "/topics/{name}/parts/{part}",
    "/topics/{name}/clear",
    "/metrics",
  ]);
  const create = document.paths["/topics"]?.["post"];
  t.match(create, {
    operationId: "createTopic",
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/Topic" }, example: { name: "orders" } } },
    },
    responses: {
      201: { content: { "application/json": { schema: { $ref: /^#\/components\/schemas\/Topic(Output)?$/ } } } },
      409: { content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } },
      400: { description: "Bad input." },
    },
  });
  const list = document.paths["/topics/{name}/parts/{part}"]?.["get"];
  t.strictSame(list?.["security"], []);
  t.match(list?.["parameters"], [
    { name: "name", in: "path", required: true },
    { name: "part", in: "path", required: true },
    { name: "page", in: "query", required: false, description: "From 1.", schema: { default: 1, minimum: 1 } },
    { name: "tag", in: "query", required: false },
  ]);
  t.match(list?.["responses"], { 200: { headers: { "X-Count": { description: "How many." } } } });
  const clear = document.paths["/topics/{name}/clear"]?.["post"];
  t.match(clear, { deprecated: true, requestBody: { required: false }, parameters: [{ name: "name", in: "path" }] });
  t.match(document.paths["/metrics"]?.["get"], { responses: { 200: { content: { "text/plain": {} } } } });
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
    t.ok((document["components"] as { schemas: Record<string, unknown> }).schemas[name ?? ""], `${name} is defined`);
  }
  t.notMatch(text, /\$defs/);
});

t.test("the page shows it without any other host, and its policy allows exactly its own script", async (t) => {
  const { app } = createApp();
  const response = await app.request("/docs");
  const html = await response.text();
  t.equal(response.status, 200);
  t.match(response.headers.get("content-type"), /^text\/html/);
  t.match(html, '<meta name="openapi" content="/openapi.json">');
  t.notMatch(html, /https?:\/\//);
  const policy = response.headers.get("content-security-policy") ?? "";
  t.match(policy, /default-src 'none'; connect-src 'self'; style-src 'sha256-[^']{44}'; script-src 'sha256-[^']{44}'/);
  const script = html.split("<script>")[1]?.split("</script>")[0] ?? "";
  const { createHash } = await import("node:crypto");
  t.ok(policy.includes(createHash("sha256").update(script).digest("base64")));
  t.doesNotThrow(() => new Function(script), "the script can be parsed");
});

/** Just enough of a browser to run the page's script. */
class FakeElement {
  readonly children: (FakeElement | string)[] = [];
  readonly attributes: Record<string, string> = {};
  readonly dataset: Record<string, string> = {};
  readonly listeners: Record<string, () => unknown> = {};
  value = "";
  hidden = false;
  open = false;
  #text = "";
  readonly tag: string;

  constructor(tag: string) {
    this.tag = tag;
  }

  setAttribute(name: string, value: string): void {
    this.attributes[name] = value;
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = value;
  }

  addEventListener(name: string, listener: () => unknown): void {
    this.listeners[name] = listener;
  }

  append(...items: (FakeElement | string)[]): void {
    this.children.push(...items);
  }

  replaceChildren(...items: (FakeElement | string)[]): void {
    this.children.splice(0, this.children.length, ...items);
  }

  get textContent(): string {
    return (
      this.#text + this.children.map((child) => (child instanceof FakeElement ? child.textContent : child)).join("")
    );
  }

  set textContent(text: string) {
    this.#text = text;
  }

  findAll(test: (element: FakeElement) => boolean): FakeElement[] {
    const inside = this.children.flatMap((child) => (child instanceof FakeElement ? child.findAll(test) : []));
    return test(this) ? [this, ...inside] : inside;
  }
}

t.test("the page's script shows every operation, and sends what is typed in", async (t) => {
  const { app } = createApp();
  const html = await (await app.request("/docs")).text();
  const script = html.split("<script>")[1]?.split("</script>")[0] ?? "";
  const roots: Record<string, FakeElement> = { index: new FakeElement("nav"), content: new FakeElement("main") };
  const everything = (): FakeElement[] => Object.values(roots).flatMap((root) => root.findAll(() => true));
  const sent: [string, RequestInit][] = [];
  const document = {
    title: "",
    createElement: (tag: string) => new FakeElement(tag),
    getElementById: (id: string) => roots[id] ?? everything().find((element) => element.attributes["id"] === id),
    querySelector: () => ({ content: "/openapi.json" }),
  };
  const fetchInApp = async (path: string, init: RequestInit = {}): Promise<Response> => {
    sent.push([path, init]);
    return await app.request(path, init);
  };
  new Function("document", "location", "fetch", script)(document, { hash: "#listParts" }, fetchInApp);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(document.title, "Test </script>");
  const operations = everything().filter((element) => element.attributes["class"] === "operation");
  t.strictSame(
    operations.map((element) => element.attributes["id"]),
    ["createTopic", "listParts", "clearTopic", "getMetrics"],
  );
  const text = roots["content"]?.textContent ?? "";
  for (const word of ["Create a topic", "maxLength 10", "From 1.", "Who it belongs to.", "default 3", "It exists."]) {
    t.match(text, word);
  }
  t.notMatch(text, /undefined|\[object/);
  t.equal(operations[1]?.open, true, "the one in the address is open");
  const credential = everything().find((element) => element.attributes["id"] === "credential");
  if (credential) credential.value = "key";
  const form = operations[1];
  for (const input of form?.findAll((element) => element.tag === "input") ?? []) {
    input.value = { name: "a/b", part: "7", page: "2", tag: "" }[input.attributes["name"] ?? ""] ?? "";
  }
  await form?.findAll((element) => element.tag === "button")[0]?.listeners["click"]?.();
  t.strictSame(sent[1]?.[0], "/topics/a%2Fb/parts/7?page=2");
  t.strictSame(sent[1]?.[1].headers, { "X-API-Key": "key" });
  t.match(form?.textContent, /200 [^\n]*\n\n\{\n {2}"params"/);
});
