import { type Client, type ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import type { queue } from "../../../src/queue/gen/queue.js";
import { type GroupRequestInit, queueDefinition } from "../../../src/queue/grpc/definition.ts";

type GroupCall = ClientDuplexStream<GroupRequestInit, queue.v1.GroupResponse>;

const creditMessages = 2000;

/** A member of a group that acknowledges each batch as it comes and counts what the broker has confirmed as settled. */
export class GroupConsumer {
  readonly #call: GroupCall;
  readonly #joined = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(client: Client, group: string, topic: string, memberId: string, onSettled: (count: number) => void) {
    const { path, requestSerialize, responseDeserialize } = queueDefinition.groupStream;
    this.#call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata());
    this.#call.on("data", (response: queue.v1.GroupResponse) => {
      if (response.ping) this.#call.write({ pong: { nonce: response.ping.nonce ?? 0 } });
      if (response.assignment) this.#joined.resolve();
      if (response.error) this.#call.destroy(new Error(response.error.message ?? "refused"));
      if (response.result) onSettled(response.result.succeeded ?? 0);
      const messages = response.messages?.messages ?? [];
      if (messages.length === 0) return;
      this.#call.write({ ack: { receipts: messages.map(({ receipt }) => receipt ?? new Uint8Array(0)) } });
      this.#call.write({ credit: { messages: messages.length } });
    });
    this.#call.on("error", (error) => {
      this.#joined.reject(error);
      this.#ended.resolve();
    });
    this.#call.on("end", () => this.#ended.resolve());
    this.#call.write({ join: { group, memberId, topics: [topic], mode: "consumer" } });
    this.#call.write({ credit: { messages: creditMessages } });
  }

  async joined(): Promise<void> {
    await this.#joined.promise;
  }

  async leave(): Promise<void> {
    this.#call.write({ leave: {} });
    this.#call.end();
    await this.#ended.promise;
  }
}

/** Counts up to what a round expects, then resolves. */
export class Countdown {
  #missing = 0;
  #done: (() => void) | undefined;

  start(count: number): Promise<void> {
    this.#missing = count;
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  readonly take = (count: number): void => {
    this.#missing -= count;
    if (this.#missing <= 0) this.#done?.();
  };
}
