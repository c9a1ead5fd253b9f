/** Endpoint that a deployment sends its traces to. */
export type OtlpTarget = {
  url: string;
  headers: Record<string, string>;
  /** Attributes of the resource, with `service.name`. */
  resource: Record<string, string>;
};

type Variables = Record<string, string | undefined>;

const PROTOCOL = "http/protobuf";
const PAIR = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/;

/** Whether the variables of a deployment switch its export on. Other switches of LangSmith's SDKs are not read. */
export function isExportOn(variables: Variables): boolean {
  return variables.LANGSMITH_OTEL_ENABLED?.trim().toLowerCase() === "true";
}

/**
 * Reads the variables that OpenTelemetry defines for exporters:
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 * @returns the target, or as text the reason why an endpoint or a protocol cannot be used
 */
export function otlpTarget(variables: Variables, service: string): OtlpTarget | string {
  const nameOf = (name: string) =>
    variables[`OTEL_EXPORTER_OTLP_TRACES_${name}`]
      ? `OTEL_EXPORTER_OTLP_TRACES_${name}`
      : `OTEL_EXPORTER_OTLP_${name}`;
  const read = (name: string) => variables[nameOf(name)];
  const protocol = read("PROTOCOL");
  if (protocol !== undefined && protocol !== PROTOCOL) {
    return `${nameOf("PROTOCOL")}: must be ${PROTOCOL}, not ${protocol}`;
  }
  const url = endpointOf(variables);
  if (url === null) {
    return `${nameOf("ENDPOINT")}: must be the http or https URL of a receiver of OTLP`;
  }
  const resource = pairsOf(variables.OTEL_RESOURCE_ATTRIBUTES);
  const name = variables.OTEL_SERVICE_NAME || resource["service.name"] || service;
  return {
    url,
    headers: pairsOf(read("HEADERS")),
    resource: { ...resource, "service.name": name },
  };
}

/** `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is a whole URL, `OTEL_EXPORTER_OTLP_ENDPOINT` only its beginning. */
function endpointOf(variables: Variables): string | null {
  const whole = variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const base = variables.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = URL.parse(whole || `${base?.replace(/\/$/, "")}/v1/traces`);
  return url && /^https?:$/.test(url.protocol) ? url.href : null;
}

/** Reads `name=value,name=value` with percent-encoded values. */
function pairsOf(text = ""): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const [, name, value = ""] = PAIR.exec(pair) ?? [];
    return name === undefined ? [] : [[name, decoded(value)] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
