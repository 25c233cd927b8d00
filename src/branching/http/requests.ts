import { z } from "zod";

/** Bodies of the contract. They are strict: a field that is not known is refused by its name. */
const name = z.string();

export const createSourceBody = z.strictObject({
  name,
  host: z.string(),
  port: z.int().optional(),
  user: z.string().optional(),
  database: z.string().optional(),
  network: z.string().optional(),
  pg_version: z.string().optional(),
  password: z.string().optional(),
  via: z.string().optional(),
  dump_schemas: z.array(z.string()).optional(),
  image: z.string().optional(),
});

export const refreshBody = z.strictObject({ password: z.string().optional() });

export const maskBody = z.array(z.strictObject({ name: z.string(), sql: z.string() })).max(1000);

export const createBranchBody = z.strictObject({
  name,
  source: z.string().optional(),
  parent: z.string().optional(),
  ttl_seconds: z.int().min(0).optional(),
});

export const diffQuery = z.object({ data: z.coerce.number().int().min(0).max(500).default(0) });

export const namedParams = z.object({ name });
