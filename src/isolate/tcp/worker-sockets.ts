import { connect as connectNatively } from "cloudflare:sockets";
import { type Link, openLink } from "./link.ts";

type Options = { secureTransport?: "off" | "on" | "starttls" };

/** Takes the place of `connect` of `cloudflare:sockets` in the agent's bundle. */
function connect(address: string | SocketAddress, options: Options = {}): Socket | Link {
  const { secureTransport = "off" } = options;
  if (secureTransport === "off") return connectNatively(address, options as SocketOptions);
  const host = typeof address === "string" ? address : `${address.hostname}:${address.port}`;
  return openLink(host, { isSecure: secureTransport === "on", closesAtEnd: true });
}

Reflect.set(globalThis, Symbol.for("heddle:connect"), connect);
