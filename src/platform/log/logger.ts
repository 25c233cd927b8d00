import { type DestinationStream, pino } from "pino";
import { pinoPretty } from "./pretty.ts";

/** Structured logging: fields first, then the message. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(bindings: Record<string, unknown>): Logger;
}

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ["auto", "json", "pretty"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LoggerOptions {
  readonly name: string;
  readonly level: LogLevel;
  /** `auto` is pretty on a terminal and JSON elsewhere. */
  readonly format: LogFormat;
  readonly isTty: boolean;
  /** Where lines go; standard error when absent. */
  readonly destination?: DestinationStream;
}

const redactedPaths = [
  "password",
  "token",
  "secret",
  "apiKey",
  "authorization",
  "cookie",
  "*.password",
  "*.token",
  "*.secret",
  "*.apiKey",
  "*.authorization",
  "*.cookie",
  'headers["x-api-key"]',
  '*.headers["x-api-key"]',
];

export function createLogger(options: LoggerOptions): Logger {
  const isPretty = options.format === "pretty" || (options.format === "auto" && options.isTty);
  const target = options.destination ?? pino.destination({ fd: 2, sync: true });
  const stream = isPretty ? pinoPretty(target, options.isTty) : target;
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      redact: { paths: redactedPaths, censor: "[redacted]" },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
}

/** For tests and library use: says nothing. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
