/**
 * Where a server listens, in the forms `:8080` (every interface), `127.0.0.1:0` (a free port), `[::1]:8080` and
 * `localhost:8080`. A bare IPv6 address is refused: its last group would read as a port.
 */
export interface ListenAddress {
  /** Undefined means every interface. */
  readonly host: string | undefined;
  readonly port: number;
}

const addressPattern = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/;

/** Undefined when the text is no listen address. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const groups = addressPattern.exec(text.trim())?.groups;
  if (groups === undefined) return undefined;
  const port = Number(groups["port"]);
  if (port > 65_535) return undefined;
  const host = groups["v6"] ?? groups["host"];
  return { host: host === "" ? undefined : host, port };
}

/** The form that `parseListenAddress` reads. */
export function formatListenAddress(address: ListenAddress): string {
  const host = address.host ?? "";
  return host.includes(":") ? `[${host}]:${address.port}` : `${host}:${address.port}`;
}

/** True when only this machine can reach the address. */
export function isLoopback(address: ListenAddress): boolean {
  const { host } = address;
  if (host === undefined) return false;
  return host === "localhost" || host === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(host);
}

/** An address that a client on this machine can connect to: a wildcard becomes loopback. */
export function toUrl(scheme: "http" | "https", address: ListenAddress): string {
  const isWildcard = address.host === undefined || address.host === "0.0.0.0" || address.host === "::";
  const host = isWildcard ? "127.0.0.1" : (address.host ?? "");
  return `${scheme}://${formatListenAddress({ host, port: address.port })}`;
}
