import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpContext } from "./http-env.ts";

/** The token of `Authorization: Bearer <token>`; undefined without one. */
export function readBearer(context: HttpContext): string | undefined {
  return /^Bearer (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
}

/** Compares in a time that tells nothing of where, or whether in length, the two differ. */
export function createSecretCheck(secret: string): (given: string) => boolean {
  const wanted = digest(secret);
  return (given) => timingSafeEqual(digest(given), wanted);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
