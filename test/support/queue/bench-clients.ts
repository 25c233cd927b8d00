import { Agent, request as httpRequest } from "node:http";
import { Client, type ClientDuplexStream, credentials, Metadata } from "@grpc/grpc-js";
import type { queue } from "../../../src/queue/gen/queue.js";
import { type PublishRequestInit, queueDefinition } from "../../../src/queue/grpc/definition.ts";

/** Load generators: callbacks instead of promises where it matters, so that the generator is not what is measured. */
const channelOptions = {
  "grpc.max_receive_message_length": 20 * 1024 * 1024,
  "grpc.max_send_message_length": 20 * 1024 * 1024,
  "grpc.use_local_subchannel_pool": 1,
};

export function connectGrpc(address: string): Client {
  return new Client(address, credentials.createInsecure(), channelOptions);
}

type PublishCall = ClientDuplexStream<PublishRequestInit, queue.v1.PublishResponse>;

export function openPublishStream(client: Client): PublishCall {
  const { path, requestSerialize, responseDeserialize } = queueDefinition.publishStream;
  return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata());
}

export interface WindowOptions {
  readonly client: Client;
  readonly streams: number;
  /** Requests on their way per stream. */
  readonly window: number;
  readonly durationMs: number;
  readonly makeRequest: (correlationId: number) => PublishRequestInit;
  /** Messages that one request holds. */
  readonly messagesPerRequest: number;
}

/** Confirmed messages per second. */
export async function publishInWindow(options: WindowOptions): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + options.durationMs;
  const counts = await Promise.all(Array.from({ length: options.streams }, () => runStream(options, endMs)));
  const seconds = (performance.now() - startMs) / 1000;
  return (counts.reduce((sum, count) => sum + count, 0) * options.messagesPerRequest) / seconds;
}

function runStream(options: WindowOptions, endMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = openPublishStream(options.client);
    let sent = 0;
    let confirmed = 0;
    const fill = (): void => {
      while (sent - confirmed < options.window && performance.now() < endMs) {
        sent += 1;
        call.write(options.makeRequest(sent));
      }
      if (performance.now() >= endMs && confirmed === sent) call.end();
    };
    call.on("data", (response: queue.v1.PublishResponse) => {
      if (response.error) reject(new Error(response.error.message ?? "refused"));
      confirmed += Math.max(1, response.count);
      fill();
    });
    call.on("end", () => resolve(confirmed));
    call.on("error", reject);
    fill();
  });
}

/** Milliseconds of each round trip, one at a time. */
export async function timeSinglePublishes(
  client: Client,
  topic: string,
  payload: Buffer,
  count: number,
): Promise<number[]> {
  const call = openPublishStream(client);
  const latencies: number[] = [];
  for (let number = 1; number <= count; number += 1) {
    const startMs = performance.now();
    const answered = new Promise((resolve) => call.once("data", resolve));
    call.write({ topic, payload, correlationId: number });
    await answered;
    latencies.push(performance.now() - startMs);
  }
  call.end();
  await new Promise((resolve) => call.on("end", resolve));
  return latencies;
}

export interface RestLoadOptions {
  readonly url: string;
  readonly connections: number;
  readonly durationMs: number;
  readonly body: string;
}

export interface RestLoad {
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
}

/** POSTs the same body over kept-alive connections, one request at a time on each. */
export async function postInLoop(options: RestLoadOptions): Promise<RestLoad> {
  const url = new URL(options.url);
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  const latenciesMs: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + options.durationMs;
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(options.body) };
  const target = { host: url.hostname, port: url.port, path: url.pathname, method: "POST", agent, headers };
  const post = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const sentMs = performance.now();
      const request = httpRequest(target, (response) => {
        response.resume();
        response.on("end", () => {
          latenciesMs.push(performance.now() - sentMs);
          if ((response.statusCode ?? 500) < 300) resolve();
          else reject(new Error(`answered ${response.statusCode}`));
        });
      });
      request.on("error", reject);
      request.end(options.body);
    });
  const loop = async (): Promise<void> => {
    while (performance.now() < endMs) await post();
  };
  await Promise.all(Array.from({ length: options.connections }, loop));
  agent.destroy();
  return { perSecond: latenciesMs.length / ((performance.now() - startMs) / 1000), latenciesMs };
}

/** Runs `workers` loops of one asynchronous operation each; operations per second. */
export async function repeatInParallel(
  workers: number,
  durationMs: number,
  operation: (worker: number) => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + durationMs;
  let count = 0;
  const loop = async (worker: number): Promise<void> => {
    while (performance.now() < endMs) {
      await operation(worker);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => loop(worker)));
  return count / ((performance.now() - startMs) / 1000);
}

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}
