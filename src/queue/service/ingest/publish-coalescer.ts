import type { Acks } from "../ports.ts";
import type { PublishMessage, PublishResult, PublishUseCases } from "../queue-service.ts";

/**
 * Joins single publishes that arrive together, from any number of connections, into one call per topic: one batch, one
 * log entry and one sync then serve them all. A round lasts until the events that are already waiting are handled, so
 * that a lone message is not held up. Results come by callback, in the order of submission within a topic.
 */
export interface PublishSubmission {
  readonly topic: string;
  readonly acks: Acks | undefined;
  /** Kept together: those of one partition are stored as one batch or not at all. */
  readonly messages: readonly PublishMessage[];
  /** Rough size, to keep a round within its limit. */
  readonly sizeBytes: number;
  /** One result per message; or the error when nothing of the submission was stored. */
  readonly onSettled: (results: readonly PublishResult[] | undefined, error: unknown) => void;
}

interface Round {
  readonly key: string;
  readonly topic: string;
  readonly acks: Acks | undefined;
  readonly submissions: PublishSubmission[];
  messageCount: number;
  sizeBytes: number;
  /** Reports the outcome; set when there is one, called when all earlier rounds of the key have reported theirs. */
  report: (() => void) | undefined;
}

export interface PublishCoalescerOptions {
  readonly service: PublishUseCases;
  /** Calls back once, soon: the end of the round. */
  readonly schedule: (callback: () => void) => void;
  /** Throws what would refuse the messages: a submission that is refused alone must not take others along. */
  readonly validate: (topic: string, messages: readonly PublishMessage[]) => void;
}

export const roundMessagesMax = 5000;
export const roundBytesMax = 4 * 1024 * 1024;

export class PublishCoalescer {
  readonly #options: PublishCoalescerOptions;
  readonly #open = new Map<string, Round>();
  /** Sent and not yet reported, oldest first. */
  readonly #sent = new Map<string, Round[]>();
  #isScheduled = false;

  constructor(options: PublishCoalescerOptions) {
    this.#options = options;
  }

  /** Refusals are reported at once, before this returns. */
  submit(submission: PublishSubmission): void {
    const { topic, acks, messages } = submission;
    try {
      this.#options.validate(topic, messages);
    } catch (error) {
      submission.onSettled(undefined, error);
      return;
    }
    const key = `${acks ?? ""}/${topic}`;
    let round = this.#open.get(key);
    if (round !== undefined && isFull(round, submission)) {
      this.#send(round);
      round = undefined;
    }
    if (round === undefined) {
      round = { key, topic, acks, submissions: [], messageCount: 0, sizeBytes: 0, report: undefined };
      this.#open.set(key, round);
    }
    round.submissions.push(submission);
    round.messageCount += messages.length;
    round.sizeBytes += submission.sizeBytes;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.schedule(() => this.flush());
  }

  /** Ends the round now. */
  flush(): void {
    this.#isScheduled = false;
    const rounds = [...this.#open.values()];
    this.#open.clear();
    for (const round of rounds) this.#send(round);
  }

  #send(round: Round): void {
    const { key, topic, acks, submissions } = round;
    const waiting = this.#sent.get(key);
    if (waiting === undefined) this.#sent.set(key, [round]);
    else waiting.push(round);
    const [first] = submissions;
    const messages =
      submissions.length === 1 && first !== undefined
        ? first.messages
        : submissions.flatMap((submission) => submission.messages);
    this.#options.service.publish({ topic, messages, acks }).then(
      (results) => this.#finish(round, () => settle(submissions, results)),
      (error: unknown) =>
        this.#finish(round, () => {
          for (const submission of submissions) submission.onSettled(undefined, error);
        }),
    );
  }

  /** A later round may be done first when it needs other partitions; it waits, so that answers keep their order. */
  #finish(round: Round, report: () => void): void {
    round.report = report;
    const waiting = this.#sent.get(round.key) ?? [];
    while (waiting[0]?.report !== undefined) waiting.shift()?.report?.();
    if (waiting.length === 0) this.#sent.delete(round.key);
  }
}

function isFull(round: Round, next: PublishSubmission): boolean {
  return (
    round.messageCount + next.messages.length > roundMessagesMax || round.sizeBytes + next.sizeBytes > roundBytesMax
  );
}

function settle(submissions: readonly PublishSubmission[], results: readonly PublishResult[]): void {
  let start = 0;
  for (const submission of submissions) {
    const end = start + submission.messages.length;
    submission.onSettled(submissions.length === 1 ? results : results.slice(start, end), undefined);
    start = end;
  }
}
