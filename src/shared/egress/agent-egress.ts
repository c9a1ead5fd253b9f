import { connect } from "cloudflare:sockets";
import { WorkerEntrypoint } from "cloudflare:workers";
import { AppError } from "../errors.ts";
import { isRuntimePath, portOf, RUNTIME_PATH_REFUSED } from "./addresses.ts";
import { egressRefusal, ownPorts, publicPolicy } from "./egress.ts";
import { countSocket, TcpSession } from "./tcp-session.ts";

/** Port of mail relays, which Workers refuse too: agents would send spam from the addresses of the installation. */
const SMTP_PORT = 25;

type Variables = Pick<Env, "EGRESS_AGENT_HOSTS" | "EGRESS_DNS_URL" | "LOCAL_PORTS">;

/**
 * `LISTED_HOSTS` reaches private addresses of listed hosts, on one machine only: there `fetch` reaches public ones only.
 */
type Network = { LISTED_HOSTS?: Fetcher };

type CountedSocket = { socket: Socket; release: () => void };

/** The `globalOutbound` of agents' isolates. Redirects are returned, so that the next hop comes through here again. */
export class Egress extends WorkerEntrypoint<Env & Network, { deployment_id: string }> {
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    try {
      const refused = await agentRefusal(this.env, url);
      if (refused !== null) return answer(403, `${refused}.`);
    } catch (error) {
      const { status, message } = AppError.from(error);
      return answer(status, message);
    }
    const network = isListed(this.env, url) ? (this.env.LISTED_HOSTS ?? globalThis) : globalThis;
    return network.fetch(request, { redirect: "manual" });
  }

  /**
   * Serves a `connect` of an agent without TLS, by the rules of `fetch` and without port 25. Closes a refused socket.
   * `localAddress` is the address that the agent connects to.
   */
  override async connect(socket: Socket): Promise<void> {
    const { localAddress = "" } = await socket.opened;
    const upstream = await this.#connectTo(localAddress, {}).catch(() => null);
    if (upstream === null) return socket.close();
    await Promise.all([
      socket.readable.pipeTo(upstream.socket.writable),
      upstream.socket.readable.pipeTo(socket.writable),
    ]).finally(upstream.release);
  }

  /** Opens a socket with TLS, or one that can start it, by the same rules. */
  async openTcp(address: string, isSecure: boolean): Promise<TcpSession> {
    const secureTransport = isSecure ? "on" : "starttls";
    const options = { secureTransport, allowHalfOpen: true } as const;
    const { socket, release } = await this.#connectTo(address, options);
    await socket.opened.catch((error: unknown) => {
      release();
      throw error;
    });
    return new TcpSession(socket, new URL(`https://${address}`).hostname, release);
  }

  async #connectTo(host: string, options: Partial<SocketOptions>): Promise<CountedSocket> {
    const counted = Promise.withResolvers<void>();
    const release = countSocket(this.ctx.props.deployment_id, counted.resolve);
    // Without `waitUntil`, this context ends with the agent's run, before the socket is released.
    this.ctx.waitUntil(counted.promise);
    try {
      return { socket: await this.#connectAllowed(host, options), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #connectAllowed(host: string, options: Partial<SocketOptions>): Promise<Socket> {
    const url = URL.parse(`https://${host}`);
    const refused = await tcpRefusal(this.env, url);
    if (url === null || refused !== null) {
      throw new Error(`Heddle refused this connection: ${refused}.`);
    }
    const address = { hostname: url.hostname, port: portOf(url) };
    const network = isListed(this.env, url) ? this.env.LISTED_HOSTS : undefined;
    const all = { secureTransport: "off" as const, allowHalfOpen: false, ...options };
    return network ? network.connect(address, all) : connect(address, all);
  }
}

async function tcpRefusal(env: Variables, url: URL | null): Promise<string | null> {
  if (url === null) return "the address has no host and port";
  return portOf(url) === SMTP_PORT ? "mail relays use port 25" : agentRefusal(env, url);
}

function answer(status: number, text: string): Response {
  return new Response(`Heddle refused this request: ${text}`, { status });
}

/**
 * Returns the reason for which agents may not reach a URL, or `null`. They reach public hosts, and the hosts of
 * EGRESS_AGENT_HOSTS. The EGRESS_PRIVATE variables do not apply to agents.
 */
export async function agentRefusal(env: Variables, url: URL): Promise<string | null> {
  if (isRuntimePath(url)) return RUNTIME_PATH_REFUSED;
  return isListed(env, url) ? null : egressRefusal(publicPolicy(env), url);
}

/** Whether EGRESS_AGENT_HOSTS has the host and port. A listed port on which Heddle itself listens stays closed. */
function isListed(env: Variables, url: URL): boolean {
  if (ownPorts(env).includes(portOf(url))) return false;
  return env.EGRESS_AGENT_HOSTS.split(",").some((entry) => {
    const listed = URL.parse(`${url.protocol}//${entry.trim()}`);
    return listed !== null && listed.host === url.host;
  });
}
