import type { ShardId } from "../../../service/ports.ts";
import type { ShardLogIndex } from "./shard-log-index.ts";

/** Limits what recent entries take in memory: counted in blocks, so that it costs nothing per entry to evict. */
const blockSize = 1024 * 1024;

interface Block {
  bytes: number;
  readonly lastIndexByShard: Map<ShardId, number>;
}

export class RecentBytes {
  readonly #limit: number;
  readonly #blocks: Block[] = [];
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(shard: ShardId, index: number, size: number): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.bytes >= Math.min(blockSize, this.#limit / 4)) {
      block = { bytes: 0, lastIndexByShard: new Map() };
      this.#blocks.push(block);
    }
    block.bytes += size;
    block.lastIndexByShard.set(shard, index);
    this.#total += size;
  }

  evict(shards: ReadonlyMap<ShardId, ShardLogIndex>): void {
    while (this.#total > this.#limit) {
      const oldest = this.#blocks.shift();
      if (oldest === undefined) return;
      for (const [shard, index] of oldest.lastIndexByShard) shards.get(shard)?.evictRecent(index);
      this.#total -= oldest.bytes;
    }
  }
}
