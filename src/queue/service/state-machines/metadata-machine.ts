import { assert } from "../../../platform/errors/assert.ts";
import {
  applyMetadata,
  emptyMetadata,
  type MetadataCommand,
  type MetadataResult,
  type MetadataState,
} from "../../model/topics/metadata-state.ts";
import type { Topic } from "../../model/topics/topic.ts";
import type { ShardStorage } from "../partition-log.ts";
import type { CommittedEntry, ShardStateMachine } from "../ports.ts";

/**
 * The metadata group: topics and their placement, producer ids, the key of receipts. Small, and read on every request,
 * so every node holds all of it in memory. Commands are a version byte and JSON; an unknown version or kind is a broken
 * invariant.
 */
const commandVersion = 1;
const snapshotChunkSize = 1024 * 1024;

export function encodeMetadataCommand(command: MetadataCommand): Uint8Array {
  return Buffer.concat([Uint8Array.of(commandVersion), Buffer.from(JSON.stringify(command))]);
}

export class MetadataMachine implements ShardStateMachine {
  readonly #storage: ShardStorage;
  readonly #shardCount: number;
  readonly #listeners: (() => void)[] = [];
  #state: MetadataState = emptyMetadata();
  #topicsByNumber = new Map<number, Topic>();
  #lastIndex = 0;
  #lastTerm = 0;
  #isLeader = false;

  constructor(options: { readonly storage: ShardStorage; readonly shardCount: number }) {
    this.#storage = options.storage;
    this.#shardCount = options.shardCount;
    const checkpoint = options.storage.lastCheckpoint;
    if (checkpoint === undefined) return;
    this.#setState(parseState(Buffer.concat(checkpoint.state)));
    this.#lastIndex = checkpoint.index;
    this.#lastTerm = checkpoint.term;
  }

  get state(): MetadataState {
    return this.#state;
  }
  get isLeader(): boolean {
    return this.#isLeader;
  }
  findTopic(name: string): Topic | undefined {
    return this.#state.topics.get(name);
  }
  findTopicByNumber(number: number): Topic | undefined {
    return this.#topicsByNumber.get(number);
  }
  /** Called after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  apply(entry: CommittedEntry): MetadataResult {
    this.#lastIndex = entry.index;
    this.#lastTerm = entry.term;
    const version = entry.payload[0];
    assert(version === commandVersion, `metadata command version ${version} is unknown`);
    const command = JSON.parse(Buffer.from(entry.payload.subarray(1)).toString("utf8")) as MetadataCommand;
    const { state, result } = applyMetadata(this.#state, command, this.#shardCount);
    assert(
      result !== undefined && "kind" in result && result.kind !== undefined,
      `metadata command ${command.kind} is unknown`,
    );
    if (state !== this.#state) this.#setState(state);
    return result;
  }

  noteSkipped(index: number, term: number): void {
    this.#lastIndex = index;
    this.#lastTerm = term;
  }

  lastAppliedIndex(): number {
    return this.#lastIndex;
  }

  async checkpoint(): Promise<number> {
    const index = this.#lastIndex;
    await this.#storage.writeCheckpoint({ index, term: this.#lastTerm, state: [encodeState(this.#state)] });
    return index;
  }

  async *createSnapshot(): AsyncIterable<Uint8Array> {
    const bytes = encodeState(this.#state);
    for (let at = 0; at < bytes.length; at += snapshotChunkSize) yield bytes.subarray(at, at + snapshotChunkSize);
  }

  async installSnapshot(index: number, term: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    this.#setState(parseState(Buffer.concat(parts)));
    this.#lastIndex = index;
    this.#lastTerm = term;
  }

  onLeadership(isLeader: boolean): void {
    this.#isLeader = isLeader;
    this.#emit();
  }

  async close(): Promise<void> {
    await this.#storage.close();
  }

  #setState(state: MetadataState): void {
    this.#state = state;
    this.#topicsByNumber = new Map([...state.topics.values()].map((topic) => [topic.number, topic]));
    this.#emit();
  }

  #emit(): void {
    for (const listener of this.#listeners) listener();
  }
}

function encodeState(state: MetadataState): Uint8Array {
  const image = { ...state, topics: [...state.topics.values()], producers: [...state.producers], version: 1 };
  return Buffer.from(JSON.stringify(image));
}

function parseState(bytes: Buffer): MetadataState {
  const image = JSON.parse(bytes.toString("utf8")) as Omit<MetadataState, "topics" | "producers"> & {
    readonly version: number;
    readonly topics: readonly Topic[];
    readonly producers: readonly [string, { readonly producerId: number; readonly producerEpoch: number }][];
  };
  assert(image.version === 1, `metadata state version ${image.version} is unknown`);
  return {
    topics: new Map(image.topics.map((topic) => [topic.name, topic])),
    lastTopicNumber: image.lastTopicNumber,
    lastProducerId: image.lastProducerId,
    producers: new Map(image.producers),
    receiptKey: image.receiptKey,
  };
}
