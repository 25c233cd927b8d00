import type { DestinationStream } from "pino";
import { prettyFactory } from "pino-pretty";

/** Human-readable log lines, in this thread: a transport thread cannot be started from inside the executable. */
export function pinoPretty(target: DestinationStream, hasColor: boolean): DestinationStream {
  const format = prettyFactory({ colorize: hasColor, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" });
  return { write: (line) => target.write(format(line)) };
}
