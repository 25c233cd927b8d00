import { z } from "zod";
import { parseInstant } from "../../platform/time/clock.ts";
import { parseDuration } from "../../platform/time/duration.ts";

/** Field types of request bodies: liberal in form, typed afterwards. Unknown fields are ignored, null counts as absent. */

/** `30s`, `1h30m`, or whole seconds as number or text; becomes milliseconds. */
export const durationField = z
  .union([z.string(), z.number()])
  .transform((value, context) => {
    const durationMs = typeof value === "string" ? parseDuration(value) : value * 1000;
    if (durationMs !== undefined && Number.isSafeInteger(durationMs) && durationMs >= 0) return durationMs;
    context.addIssue({ code: "custom", message: "must be a duration such as 30s, 5m or 1h30m, or whole seconds" });
    return z.NEVER;
  })
  .nullish()
  .transform((value) => value ?? undefined);

export const instantField = z
  .union([z.string(), z.int().min(0)])
  .transform((value, context) => {
    const epochMs = typeof value === "string" ? parseInstant(value) : value;
    if (epochMs !== undefined) return epochMs;
    context.addIssue({ code: "custom", message: "must be RFC 3339 text such as 2026-01-31T12:00:00Z" });
    return z.NEVER;
  })
  .nullish()
  .transform((value) => value ?? undefined);

export const textField = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);

export const nonEmptyField = z
  .string()
  .min(1, "must not be empty")
  .nullish()
  .transform((value) => value ?? undefined);

export const booleanField = z
  .boolean()
  .nullish()
  .transform((value) => value ?? undefined);

export function wholeField(min: number, max = Number.MAX_SAFE_INTEGER) {
  return z
    .int()
    .min(min)
    .max(max)
    .nullish()
    .transform((value) => value ?? undefined);
}

export function numberField(min: number) {
  return z
    .number()
    .min(min)
    .nullish()
    .transform((value) => value ?? undefined);
}

export function choiceField<const Choices extends readonly [string, ...string[]]>(choices: Choices) {
  return z
    .enum(choices)
    .nullish()
    .transform((value) => value ?? undefined);
}

/** The object without the keys that are undefined, as `exactOptionalPropertyTypes` wants it. */
export function compact<Fields extends object>(
  fields: Fields,
): { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Fields]?: Exclude<Fields[Key], undefined>;
  };
}
