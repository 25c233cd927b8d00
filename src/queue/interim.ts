import type { Broker } from "./service/broker.ts";
import type { DelayStore } from "./service/delay-store.ts";
import { FetchService } from "./service/fetch/fetch-service.ts";
import { PublishService } from "./service/publish/publish-service.ts";
import type { QueueService } from "./service/queue-service.ts";
import { TopicService } from "./service/topics/topic-service.ts";

export function createInterimService(broker: Broker): QueueService {
  const parts = [new TopicService(broker), new PublishService(broker), new FetchService(broker)] as unknown as Record<
    string,
    unknown
  >[];
  const own: Record<string, unknown> = {
    start: async () => {},
    close: async () => broker.beginClose(),
    isReady: true,
    stats: () => ({
      topicCount: 0,
      partitionCount: 0,
      groupCount: 0,
      memberCount: 0,
      inFlightCount: 0,
      retryCount: 0,
      delayedCount: 0,
    }),
    partitionSizes: () => [],
    groupProgress: () => [],
  };
  return new Proxy(own, {
    get(target, name) {
      if (name in target) return target[String(name)];
      const part = parts.find((candidate) => typeof candidate[String(name)] === "function");
      const method = part?.[String(name)];
      return typeof method === "function" ? method.bind(part) : undefined;
    },
  }) as unknown as QueueService;
}

export class NoDelays implements DelayStore {
  add(): void {}
  find(): undefined {
    return undefined;
  }
  remove(): boolean {
    return false;
  }
  dropTopic(): void {}
  count(): number {
    return 0;
  }
  partitions(): [] {
    return [];
  }
  scan(): [] {
    return [];
  }
  nextDueMs(): undefined {
    return undefined;
  }
  prepareCheckpoint(): string {
    return "";
  }
  commitCheckpoint(): void {}
  restore(): void {}
  close(): void {}
}
