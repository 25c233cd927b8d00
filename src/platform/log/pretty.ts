import type { DestinationStream } from "pino";
import pretty from "pino-pretty";

/** Human-readable log lines, in this thread: a transport thread cannot be started from inside the executable. */
export function pinoPretty(target: DestinationStream, hasColor: boolean): DestinationStream {
  return pretty({
    colorize: hasColor,
    destination: target as unknown as NodeJS.WritableStream,
    ignore: "pid,hostname",
    translateTime: "SYS:HH:MM:ss.l",
    sync: true,
  });
}
