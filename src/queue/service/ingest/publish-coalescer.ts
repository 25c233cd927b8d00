import { isDomainError } from "../../../platform/errors/domain-error.ts";
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
  readonly topic: string;
  readonly acks: Acks | undefined;
  readonly submissions: PublishSubmission[];
  messageCount: number;
  sizeBytes: number;
}

export const roundMessagesMax = 5000;
export const roundBytesMax = 4 * 1024 * 1024;

export class PublishCoalescer {
  readonly #service: PublishUseCases;
  readonly #schedule: (callback: () => void) => void;
  readonly #open = new Map<string, Round>();
  #isScheduled = false;

  /** @param schedule calls back once, soon; the end of the round */
  constructor(service: PublishUseCases, schedule: (callback: () => void) => void) {
    this.#service = service;
    this.#schedule = schedule;
  }

  submit(submission: PublishSubmission): void {
    const key = `${submission.acks ?? ""}/${submission.topic}`;
    const { length } = submission.messages;
    let round = this.#open.get(key);
    if (round !== undefined && isFull(round, submission)) {
      this.#open.delete(key);
      this.#send(round);
      round = undefined;
    }
    if (round === undefined) {
      const { topic, acks } = submission;
      round = { topic, acks, submissions: [], messageCount: 0, sizeBytes: 0 };
      this.#open.set(key, round);
    }
    round.submissions.push(submission);
    round.messageCount += length;
    round.sizeBytes += submission.sizeBytes;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.flush());
  }

  /** Ends the round now. */
  flush(): void {
    this.#isScheduled = false;
    const rounds = [...this.#open.values()];
    this.#open.clear();
    for (const round of rounds) this.#send(round);
  }

  #send(round: Round): void {
    const [first] = round.submissions;
    const messages =
      round.submissions.length === 1 && first !== undefined
        ? first.messages
        : round.submissions.flatMap((submission) => submission.messages);
    this.#service.publish({ topic: round.topic, messages, acks: round.acks }).then(
      (results) => settle(round.submissions, results),
      (error: unknown) => this.#fail(round, error),
    );
  }

  /** A refused message takes only its own submission along: the others are tried again, each alone. */
  #fail(round: Round, error: unknown): void {
    const isOneMessageAtFault = isDomainError(error) && typeof error.details["index"] === "number";
    if (!isOneMessageAtFault || round.submissions.length === 1) {
      for (const submission of round.submissions) submission.onSettled(undefined, error);
      return;
    }
    for (const submission of round.submissions) {
      this.#send({ ...round, submissions: [submission] });
    }
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
