import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { Hono } from "hono";
import type { HttpEnv } from "../../../src/platform/http/http-env.ts";
import { createHttpMetrics } from "../../../src/platform/http/http-metrics.ts";
import { silentLogger } from "../../../src/platform/log/logger.ts";
import { createMetrics } from "../../../src/platform/metrics/metrics.ts";
import { systemRandom } from "../../../src/platform/random/random.ts";
import { systemClock, systemTimers } from "../../../src/platform/time/clock.ts";
import { loadQueueConfig, type QueueConfig } from "../../../src/queue/config.ts";
import { QueueMetrics } from "../../../src/queue/drivers/metrics/queue-metrics.ts";
import { createQueueApp } from "../../../src/queue/http/queue-app.ts";
import { openBroker } from "../../../src/queue/open-broker.ts";
import type { QueueService } from "../../../src/queue/service/queue-service.ts";

/** A broker on a directory of its own, with its REST API in-process; every answer is held against the OpenAPI document. */
export interface RestFixture extends AsyncDisposable {
  readonly app: Hono<HttpEnv>;
  readonly service: QueueService;
  readonly document: OpenApi;
  /** Operations that were answered, as `GET /topics 200`. */
  readonly answered: ReadonlySet<string>;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape.
  readonly body: any;
  readonly text: string;
}

export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: object }>> }>>;
}

export function createTestFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "queue-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export function testConfig(dataDir: string, environment: Record<string, string> = {}): QueueConfig {
  return loadQueueConfig({
    environment: {
      QUEUE_BROKER_DATADIR: dataDir,
      QUEUE_LISTENERS_HTTP: "127.0.0.1:0",
      QUEUE_LISTENERS_GRPC: "127.0.0.1:0",
      ...environment,
    },
    readFile: () => "",
  });
}

export async function openRestFixture(): Promise<RestFixture> {
  const folder = createTestFolder();
  const metrics = createMetrics();
  const counters = new QueueMetrics(metrics);
  const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, logger: silentLogger };
  const broker = openBroker({ config: testConfig(folder.path), counters, ...parts });
  await broker.start();
  counters.observe(broker.service);
  const app = createQueueApp({
    ...parts,
    service: broker.service,
    info: { nodeId: "node-1", version: "0.0.0-test", startedAtMs: systemClock.nowMs() },
    metrics,
    readinessChecks: [{ name: "recovered", check: () => {} }],
    healthChecks: [],
    httpMetrics: createHttpMetrics(metrics, "queue"),
  });
  const document = (await (await app.request("/openapi.json")).json()) as OpenApi;
  const contract = new Contract(document);
  return {
    app,
    service: broker.service,
    document,
    answered: contract.answered,
    async request(method, path, body, headers = {}) {
      const isText = typeof body === "string" || body instanceof Uint8Array;
      const response = await app.request(path, {
        method,
        headers: {
          ...(body === undefined || "content-type" in headers ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json") ?? false;
      const parsed: unknown = isJson && text !== "" ? JSON.parse(text) : undefined;
      contract.check(method, path, response.status, parsed);
      return { status: response.status, headers: response.headers, body: parsed, text };
    },
    async [Symbol.asyncDispose]() {
      await broker.close();
      folder.remove();
    },
  };
}

/** Holds answers against the document; throws when one is not described or does not validate. */
class Contract {
  readonly answered = new Set<string>();
  readonly #document: OpenApi;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<object, ValidateFunction>();

  constructor(document: OpenApi) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(this.#ajv);
    this.#ajv.addSchema({ ...document, $id: "openapi" });
  }

  check(method: string, url: string, status: number, body: unknown): void {
    const path = (url.split("?", 1)[0] ?? "").replace(/^\/v1(?=\/)/, "");
    const template = Object.keys(this.#document.paths).find((candidate) => matches(candidate, path));
    const operation = template === undefined ? undefined : this.#document.paths[template]?.[method.toLowerCase()];
    if (template === undefined || operation === undefined) return;
    const response = operation.responses[String(status)];
    if (response === undefined) throw new Error(`${method} ${template} answered ${status}, which is not documented`);
    this.answered.add(`${method} ${template} ${status}`);
    const schema = response.content?.["application/json"]?.schema;
    if (schema === undefined) return;
    const validate = this.#validatorOf(schema);
    if (validate(body)) return;
    const errors = JSON.stringify(validate.errors?.slice(0, 5), null, 1);
    throw new Error(`${method} ${template} ${status} is not as documented: ${errors}\n${JSON.stringify(body)}`);
  }

  #validatorOf(schema: object): ValidateFunction {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      const text = JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components');
      validate = this.#ajv.compile(JSON.parse(text) as object);
      this.#validators.set(schema, validate);
    }
    return validate;
  }
}

/** Literal segments win over parameters, as in the router. */
function matches(template: string, path: string): boolean {
  const wanted = template.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return false;
  return wanted.every((segment, index) => segment.startsWith("{") || segment === given[index]);
}
