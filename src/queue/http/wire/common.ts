import { z } from "zod";

/** Shapes that many bodies share. They describe answers; requests are parsed by schemas and parsers of their own. */
export const offsetSchema = z.int().min(0).meta({ description: "Record number in its partition, from 0" });
export const partitionSchema = z.int().min(0).meta({ description: "Partition number, from 0" });
export const instantSchema = z.string().meta({ format: "date-time", description: "RFC 3339 in UTC" });
export const durationTextSchema = z.string().meta({ description: "Such as 300ms, 30s, 1h30m", examples: ["30s"] });
export const prioritySchema = z.enum(["critical", "high", "normal", "low", "background"]);

export const errorBodySchema = z
  .object({
    error: z.object({
      code: z.string().meta({ description: "Upper-case identifier", examples: ["TOPIC_NOT_FOUND"] }),
      message: z.string(),
      details: z.record(z.string(), z.unknown()),
    }),
  })
  .meta({ id: "Error" });

export const paginationSchema = z
  .object({ page: z.int().min(1), per_page: z.int().min(1), total: z.int().min(0), total_pages: z.int().min(0) })
  .meta({ id: "Pagination" });

/** `{"0": …, "1": …}`: by partition number. */
export function byPartition<Schema extends z.ZodType>(schema: Schema): z.ZodRecord<z.ZodString, Schema> {
  return z.record(z.string(), schema);
}

/** `{"orders": [0, 1]}`. */
export const assignedPartitionsSchema = z
  .record(z.string(), z.array(partitionSchema))
  .meta({ description: "Partition numbers by topic", examples: [{ orders: [0, 1] }] });

export const itemErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int(),
  details: z.record(z.string(), z.unknown()),
});

export const pageParameters = [
  { name: "page", description: "From 1", schema: z.int().min(1).default(1) },
  { name: "per_page", description: "Items on a page", schema: z.int().min(1).max(1000).default(50) },
] as const;
