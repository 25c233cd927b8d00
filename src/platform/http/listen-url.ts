import { formatListenAddress, type ListenAddress } from "../config/field.ts";

/** An address that a client on this machine can connect to: a wildcard becomes loopback. */
export function toUrl(scheme: "http" | "https", address: ListenAddress): string {
  const isWildcard = address.host === undefined || address.host === "0.0.0.0" || address.host === "::";
  const host = isWildcard ? "127.0.0.1" : address.host;
  return `${scheme}://${formatListenAddress({ host, port: address.port })}`;
}
