import type { DomainError } from "../../platform/errors/domain-error.ts";
import type { BatchView, Priority, RecordBatch } from "../model/record-batch.ts";
import type { PriorityWeights, TopicSettings } from "../model/topics/topic.ts";
import type { Acks } from "./ports.ts";

/**
 * What the edges (REST, gRPC, command line) may ask of the broker, as typed values. Every method throws a `DomainError`
 * of `src/queue/errors.ts`; batch forms answer one `Outcome` per item instead, in the order asked. Times are
 * milliseconds since the epoch, spans milliseconds, sizes bytes.
 */
export interface QueueService
  extends TopicUseCases,
    PublishUseCases,
    FetchUseCases,
    GroupUseCases,
    OffsetUseCases,
    DeliveryUseCases,
    DelayedUseCases,
    DeadLetterUseCases,
    StatsUseCases {
  /** Resolves when the state machines have caught up and this node can answer. */
  start(): Promise<void>;
  readonly isReady: boolean;
  /** Ends long polls with what they have, stops timers, writes what is pending. */
  close(): Promise<void>;
}

export type Outcome<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "error"; readonly error: DomainError };

export interface PageRequest {
  readonly page: number;
  readonly perPage: number;
}
export interface Page<T> {
  readonly data: readonly T[];
  readonly page: number;
  readonly perPage: number;
  readonly total: number;
}

// ── Topics ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export type { PriorityWeights, TopicSettings };

export interface CreateTopicRequest {
  readonly name: string;
  /** 1 … 1024; the default is 3. */
  readonly partitions?: number | undefined;
  readonly settings?: Partial<TopicSettings>;
}
export interface PatchTopicRequest {
  readonly name: string;
  readonly partitions?: number | undefined;
  readonly settings?: Partial<TopicSettings>;
}

export interface PartitionStatus {
  readonly partition: number;
  readonly shard: number;
  readonly leader: string | undefined;
  readonly leaderEpoch: number;
  readonly replicas: readonly string[];
  readonly inSyncReplicas: readonly string[];
  readonly earliestOffset: number;
  /** Next offset to be written. */
  readonly latestOffset: number;
  readonly sizeBytes: number;
  readonly messageCount: number;
}

export interface TopicStatus {
  readonly name: string;
  /** Never used again, not even by a topic of the same name. */
  readonly topicId: string;
  readonly partitions: number;
  readonly createdAtMs: number;
  readonly isDeadLetterTopic: boolean;
  readonly settings: TopicSettings;
  readonly totalMessages: number;
  readonly totalSizeBytes: number;
  readonly partitionDetails: readonly PartitionStatus[];
}

export interface TopicUseCases {
  createTopic(request: CreateTopicRequest): Promise<TopicStatus>;
  getTopic(name: string): Promise<TopicStatus>;
  /** Sorted by name. */
  listTopics(page: PageRequest): Promise<Page<TopicStatus>>;
  /** Names only, sorted; cheap. */
  listTopicNames(): readonly string[];
  /** Undefined when there is none; cheap, for per-request checks. */
  findTopicSettings(name: string): { readonly partitions: number; readonly settings: TopicSettings } | undefined;
  patchTopic(request: PatchTopicRequest): Promise<TopicStatus>;
  deleteTopic(name: string): Promise<void>;
}

// ── Publish ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface PublishMessage {
  readonly key?: string | Uint8Array | undefined;
  /** Undefined is a tombstone. */
  readonly value: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Left out: by the key (murmur2), or round robin by request. */
  readonly partition?: number | undefined;
  readonly priority?: Priority | undefined;
  readonly delayMs?: number | undefined;
  /** A time in the past is immediate. Wins over `delayMs`. */
  readonly deliverAtMs?: number | undefined;
  readonly ttlMs?: number | undefined;
  readonly isPayload?: boolean | undefined;
  readonly isBinary?: boolean | undefined;
  readonly isKeyBinary?: boolean | undefined;
  readonly producerId?: number | undefined;
  readonly producerEpoch?: number | undefined;
  readonly sequence?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface PublishRequest {
  readonly topic: string;
  readonly messages: readonly PublishMessage[];
  readonly acks?: Acks | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface PublishResult {
  readonly partition: number;
  /** −1 while the message is delayed. */
  readonly offset: number;
  readonly timestampMs: number;
  readonly priority: Priority;
  readonly isDuplicate: boolean;
  readonly deliverAtMs?: number;
  readonly delayedId?: string;
  /** Storage or replication failed for this message's partition; the others may have been written. */
  readonly error?: DomainError;
}

export interface PublishEncodedRequest {
  readonly topic: string;
  readonly partition: number;
  /** Given up by the caller: not copied. */
  readonly batch: RecordBatch;
  readonly recordCount: number;
  readonly acks?: Acks | undefined;
}

export interface PublishUseCases {
  /**
   * Validates all first: a bad message means an error with `details.index` and nothing written. Messages for one
   * partition become one batch with contiguous offsets. Rejects only when nothing could be attempted; otherwise each
   * result stands for itself.
   */
  publish(request: PublishRequest): Promise<readonly PublishResult[]>;
  /** Fast path for a batch that is encoded already: no delay, no idempotency keys. Answers the base offset. */
  publishEncoded(
    request: PublishEncodedRequest,
  ): Promise<{ readonly baseOffset: number; readonly timestampMs: number; readonly isDuplicate: boolean }>;
  /** The partition a keyed message belongs to. */
  partitionForKey(topic: string, key: string | Uint8Array): number;
  /** A new producer id, or the next epoch of the one that the transactional id has. */
  initProducer(request: {
    readonly transactionalId?: string | undefined;
  }): Promise<{ readonly producerId: number; readonly producerEpoch: number }>;
}

// ── Fetch ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export type FetchStart =
  | { readonly kind: "earliest" }
  | { readonly kind: "latest" }
  | { readonly kind: "offset"; readonly offset: number }
  | { readonly kind: "timestamp"; readonly timestampMs: number };

export interface FetchRequest {
  readonly topic: string;
  readonly partition: number;
  readonly start: FetchStart;
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Waits this long for the first record at the end of the log. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FetchResult {
  readonly topic: string;
  readonly partition: number;
  /** The first offset wanted, resolved. Records before it in the first batch are to be skipped. */
  readonly startOffset: number;
  /** Views of stored batches; at most `maxRecords` records of them count: stop at `nextOffset`. */
  readonly batches: readonly BatchView[];
  /** Where the next fetch goes on. */
  readonly nextOffset: number;
  readonly highWatermark: number;
  readonly earliestOffset: number;
}

export interface FetchUseCases {
  fetch(request: FetchRequest): Promise<FetchResult>;
}

// ── Groups ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export type GroupMode = "consumer" | "share";
export type GroupState = "empty" | "rebalancing" | "stable" | "dead";
export type AutoOffsetReset = "earliest" | "latest" | "none";
export type MemberState = "active" | "draining" | "drained";

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface JoinRequest {
  readonly group: string;
  /** Used as it is. Without it an id is made from `clientId`; one of both is needed. */
  readonly memberId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientHost?: string | undefined;
  readonly topics: readonly string[];
  readonly mode?: GroupMode | undefined;
  readonly sessionTimeoutMs?: number | undefined;
  readonly rebalanceTimeoutMs?: number | undefined;
  readonly autoOffsetReset?: AutoOffsetReset | undefined;
  readonly visibilityTimeoutMs?: number | undefined;
  /** Heartbeats and polls extend the visibility of all the member holds. */
  readonly isAutoExtend?: boolean | undefined;
}

export interface MemberView {
  readonly group: string;
  readonly memberId: string;
  readonly generation: number;
  readonly state: GroupState;
  readonly isRebalanceRequired: boolean;
  readonly isDraining: boolean;
  readonly assignedPartitions: readonly TopicPartition[];
  /** Still this member's in-flight messages, but on their way to another member. */
  readonly partitionsToRevoke: readonly TopicPartition[];
  /** Assigned, but the previous owner still settles what it holds. */
  readonly partitionsPending: readonly TopicPartition[];
  readonly revocationDeadlineMs: number | undefined;
}

export interface JoinResult extends MemberView {
  readonly clientId: string | undefined;
  readonly leaderId: string;
  readonly memberIds: readonly string[];
  readonly mode: GroupMode;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
}

export interface PollRequest {
  readonly group: string;
  readonly memberId: string;
  readonly generation?: number | undefined;
  readonly timeoutMs: number;
  readonly maxMessages: number;
  readonly maxBytes?: number | undefined;
  readonly visibilityTimeoutMs?: number | undefined;
  /** Aborted when the client is gone: nothing is then acquired for it. */
  readonly signal?: AbortSignal | undefined;
}

export interface DeliveredMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly priority: Priority;
  readonly key: Uint8Array | undefined;
  readonly isKeyBinary: boolean;
  /** Undefined is a tombstone. */
  readonly value: Uint8Array | undefined;
  readonly isBinary: boolean;
  readonly isPayload: boolean;
  /** With the retry headers of a redelivery. */
  readonly headers: readonly (readonly [string, string])[];
  readonly deliveryCount: number;
  readonly receiptHandle: string;
  readonly visibleUntilMs: number;
}

export interface PollResult extends MemberView {
  readonly messages: readonly DeliveredMessage[];
}

export interface GroupMemberStatus {
  readonly memberId: string;
  readonly clientId: string | undefined;
  readonly clientHost: string | undefined;
  readonly state: MemberState;
  readonly topics: readonly string[];
  readonly assignedPartitions: readonly TopicPartition[];
  readonly lastHeartbeatMs: number;
  readonly joinedAtMs: number;
  readonly inFlightCount: number;
}

export interface PartitionProgress extends TopicPartition {
  /** Next offset to deliver; undefined when the group has none yet. */
  readonly committedOffset: number | undefined;
  readonly latestOffset: number;
  readonly lag: number;
  readonly inFlightCount: number;
  readonly retryCount: number;
  readonly oldestInFlightAgeMs: number;
  readonly isPaused: boolean;
  readonly metadata: string | undefined;
}

export interface GroupStatus {
  readonly group: string;
  readonly state: GroupState;
  readonly mode: GroupMode;
  readonly generation: number;
  readonly leaderId: string | undefined;
  readonly topics: readonly string[];
  readonly members: readonly GroupMemberStatus[];
  readonly progress: readonly PartitionProgress[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface DrainResult {
  readonly group: string;
  readonly memberId: string;
  readonly state: MemberState;
  readonly inFlightCount: number;
  readonly generation: number;
}

export interface MemberRequest {
  readonly group: string;
  readonly memberId: string;
  readonly generation?: number | undefined;
}

export interface GroupUseCases {
  join(request: JoinRequest): Promise<JoinResult>;
  heartbeat(request: MemberRequest): Promise<MemberView>;
  /** Long poll over all partitions of the member. Counts as a heartbeat. */
  poll(request: PollRequest): Promise<PollResult>;
  leave(request: MemberRequest): Promise<void>;
  /** Gives up partitions on their way to another member before everything is settled. */
  revoke(request: MemberRequest & { readonly partitions?: readonly TopicPartition[] }): Promise<MemberView>;
  drain(request: MemberRequest): Promise<DrainResult>;
  undrain(request: MemberRequest): Promise<DrainResult>;
  getGroup(group: string): Promise<GroupStatus>;
  /** Sorted by name. */
  listGroups(page: PageRequest): Promise<Page<GroupStatus>>;
  deleteGroup(group: string, options?: { readonly isForced?: boolean }): Promise<void>;
  /**
   * Calls back after each change that the member should be told of (assignment, revocation, drain, removal: then
   * `undefined`). Returns the function that ends it.
   */
  watchMember(group: string, memberId: string, onChange: (view: MemberView | undefined) => void): () => void;
}

// ── Offsets ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface OffsetCommit extends TopicPartition {
  readonly offset: number;
  readonly metadata?: string | undefined;
}
export interface CommitOffsetsRequest {
  readonly group: string;
  readonly memberId?: string | undefined;
  readonly generation?: number | undefined;
  readonly offsets: readonly OffsetCommit[];
  /** An administrator may commit without being a member. */
  readonly isAdmin?: boolean;
}
export type OffsetTarget =
  | { readonly kind: "earliest" }
  | { readonly kind: "latest" }
  | { readonly kind: "offset"; readonly partition: number; readonly offset: number }
  | { readonly kind: "timestamp"; readonly timestampMs: number };
export interface ResetOffsetsRequest {
  readonly group: string;
  readonly topic: string;
  readonly target: OffsetTarget;
  /** Only this partition; all when left out. */
  readonly partition?: number | undefined;
  readonly isDryRun?: boolean;
}
export interface OffsetReset {
  readonly partition: number;
  readonly oldOffset: number | undefined;
  readonly newOffset: number;
}
export interface GroupOffsets {
  readonly group: string;
  readonly generation: number;
  readonly updatedAtMs: number;
  readonly progress: readonly PartitionProgress[];
}

export interface OffsetUseCases {
  commitOffsets(request: CommitOffsetsRequest): Promise<readonly OffsetCommit[]>;
  getOffsets(request: { readonly group: string; readonly topic?: string | undefined }): Promise<GroupOffsets>;
  resetOffsets(request: ResetOffsetsRequest): Promise<readonly OffsetReset[]>;
}

// ── Deliveries ──────────────────────────────────────────────────────────────────────────────────────────────────────

export type DeliveryRef =
  | { readonly kind: "receipt"; readonly receiptHandle: string }
  | {
      readonly kind: "position";
      readonly topic: string;
      readonly partition: number;
      readonly offset: number;
      readonly group?: string | undefined;
      readonly memberId?: string | undefined;
    };

export interface SettledDelivery extends TopicPartition {
  readonly group: string;
  readonly offset: number;
}
export interface AckResult extends SettledDelivery {
  readonly isAlreadyAcked: boolean;
  readonly committedOffset: number;
  readonly isOffsetAdvanced: boolean;
  readonly inFlightCount: number;
}
export interface NackOptions {
  /** The default is true; false dead-letters at once with reason `rejected`. */
  readonly isRequeue?: boolean | undefined;
  /** Instead of the back-off; 0 is now. */
  readonly delayMs?: number | undefined;
  readonly reason?: string | undefined;
  /** The default is true; false does not count as a failed delivery. */
  readonly isFailed?: boolean | undefined;
}
export interface NackResult extends SettledDelivery {
  /** `dropped`: dead-lettering is off for the topic. */
  readonly action: "requeued" | "dead_lettered" | "dropped";
  readonly deliveryCount: number;
  readonly nextVisibleAtMs?: number;
  readonly dlqTopic?: string;
  readonly dlqPartition?: number;
  readonly dlqOffset?: number;
}
export interface ExtendResult extends SettledDelivery {
  readonly deadlineMs: number;
}

export interface InFlightStatus extends TopicPartition {
  readonly inFlightCount: number;
  readonly oldestInFlightAgeMs: number;
}

export interface DeliveryUseCases {
  ack(deliveries: readonly DeliveryRef[]): Promise<readonly Outcome<AckResult>[]>;
  nack(deliveries: readonly DeliveryRef[], options?: NackOptions): Promise<readonly Outcome<NackResult>[]>;
  /** As `nack` with `isRequeue: false`. */
  reject(deliveries: readonly DeliveryRef[], reason?: string): Promise<readonly Outcome<NackResult>[]>;
  /** The deadline becomes now + `timeoutMs`, at most 12 h; 0 gives the message back now, without a failure. */
  extendVisibility(deliveries: readonly DeliveryRef[], timeoutMs: number): Promise<readonly Outcome<ExtendResult>[]>;
  listInFlight(topic: string): Promise<readonly InFlightStatus[]>;
}

// ── Delayed ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface DelayedMessage extends TopicPartition {
  readonly delayedId: string;
  /** The number in `delayedId`. */
  readonly sequence: number;
  readonly key: Uint8Array | undefined;
  readonly isKeyBinary: boolean;
  readonly priority: Priority;
  readonly deliverAtMs: number;
  readonly remainingMs: number;
}

export interface DelayedUseCases {
  /** By due time. */
  listDelayed(request: { readonly topic: string; readonly skip: number; readonly limit: number }): Promise<{
    readonly messages: readonly DelayedMessage[];
    readonly total: number;
  }>;
  getDelayed(topic: string, delayedId: string): Promise<DelayedMessage>;
  cancelDelayed(topic: string, delayedId: string): Promise<DelayedMessage>;
}

// ── Dead letters ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface DeadLetter extends TopicPartition {
  readonly offset: number;
  readonly timestampMs: number;
  readonly priority: Priority;
  readonly key: Uint8Array | undefined;
  readonly isKeyBinary: boolean;
  readonly value: Uint8Array | undefined;
  readonly isBinary: boolean;
  readonly isPayload: boolean;
  readonly headers: readonly (readonly [string, string])[];
  readonly reason: string;
  readonly originalTopic: string;
  readonly originalPartition: number;
  readonly originalOffset: number;
}
export interface PeekDlqRequest {
  /** The source topic. */
  readonly topic: string;
  readonly reason?: string | undefined;
  readonly partition?: number | undefined;
  readonly skip?: number;
  readonly limit: number;
}
export interface RedriveRequest {
  /** The source topic, or its dead-letter topic. */
  readonly topic: string;
  /** Positions in the dead-letter topic; all when left out. */
  readonly messages?: readonly { readonly partition: number; readonly offset: number }[] | undefined;
  readonly reason?: string | undefined;
  readonly max?: number | undefined;
  /** The original topic when left out. */
  readonly targetTopic?: string | undefined;
  readonly ratePerSecond?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}
export interface Redriven {
  readonly dlqPartition: number;
  readonly dlqOffset: number;
  readonly targetTopic: string;
  readonly partition: number;
  readonly offset: number;
  /** It had been redriven before; nothing was written now. */
  readonly isDuplicate: boolean;
}
export interface DeadLetterUseCases {
  peekDlq(request: PeekDlqRequest): Promise<{
    readonly dlqTopic: string;
    readonly messages: readonly DeadLetter[];
    /** Dead letters that are neither redriven nor purged, whatever their reason. */
    readonly total: number;
  }>;
  redriveDlq(request: RedriveRequest): Promise<{
    readonly dlqTopic: string;
    readonly redriven: readonly Redriven[];
  }>;
  /** Empties the dead-letter topic of a topic. */
  purgeDlq(topic: string): Promise<{ readonly dlqTopic: string; readonly purgedCount: number }>;
}

// ── Statistics ──────────────────────────────────────────────────────────────────────────────────────────────────────

export interface QueueStats {
  readonly topicCount: number;
  readonly partitionCount: number;
  readonly groupCount: number;
  readonly memberCount: number;
  readonly inFlightCount: number;
  readonly retryCount: number;
  readonly delayedCount: number;
}
/** Counters since the start of the process; the edges turn them into metrics. Labels: topic, and group where named. */
export interface QueueCounters {
  onPublished(topic: string, partition: number, messages: number, bytes: number): void;
  onConsumed(topic: string, group: string | undefined, messages: number, bytes: number): void;
  onSettled(topic: string, group: string, action: "acked" | "requeued" | "dead_lettered" | "dropped"): void;
  onVisibilityExpired(topic: string, group: string, messages: number): void;
  onDelayedScheduled(topic: string, messages: number): void;
  /** `latenessMs` between the due time and the append. */
  onDelayedFired(topic: string, messages: number, latenessMs: number): void;
  onRebalance(group: string): void;
}
export interface PriorityStats {
  readonly published: readonly [number, number, number, number, number];
  readonly delivered: readonly [number, number, number, number, number];
}
export interface StatsUseCases {
  stats(): QueueStats;
  priorityStats(): PriorityStats;
  /** Per partition led by this node, for gauges. */
  partitionSizes(): readonly (TopicPartition & { readonly sizeBytes: number; readonly latestOffset: number })[];
  /** Per group and partition led by this node, for gauges. */
  groupProgress(): readonly (PartitionProgress & { readonly group: string })[];
}
