import type { Assistant } from "../../../agent-server/threads/api/assistants/assistant-schema.ts";
import { agentPath, STREAMED } from "../../runs/stream/agent.ts";
import type { ThreadView } from "../../runs/use-thread.ts";
import { toJson } from "../../ui/conversation/fields.ts";
import { LongText } from "../../ui/conversation/long-text.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import type { Target } from "./use-target.ts";

type Props = { target: Target; assistant: Assistant; view: ThreadView };

/** Shows a run with the input or command of the last one, as a command of curl and with the SDK. */
export function AsCode({ target, assistant, view }: Props) {
  const { input = null, command } = view.inOrder.at(-1)?.kwargs ?? {};
  const run = command ? { command } : { input };
  const url = `${location.origin}${agentPath(target.ref)``}`;
  const path = view.thread_id === null ? "/runs/stream" : `/threads/${view.thread_id}/runs/stream`;
  const body = { assistant_id: assistant.assistant_id, ...run, stream_mode: STREAMED.stream_mode };
  const curl = [
    `curl -N "${url}${path}" -H "X-Api-Key: $API_KEY" \\`,
    `  -H "Content-Type: application/json" -d @- <<'JSON'`,
    `${toJson(body, 2)}\nJSON`,
  ].join("\n");
  const sdk = [
    `import { Client } from "@langchain/langgraph-sdk";\n`,
    `const client = new Client({ apiUrl: ${toJson(url)}, apiKey: process.env.API_KEY });`,
    `const run = ${toJson({ ...run, streamMode: STREAMED.stream_mode }, 2)};`,
    `const stream = client.runs.stream(${toJson(view.thread_id)}, ${toJson(assistant.assistant_id)}, run);`,
    "for await (const { event, data } of stream) console.log(event, data);",
  ].join("\n");
  return (
    <div className="in-p grid gap-3">
      <Code title="curl" text={curl} />
      <Code title="TypeScript" text={sdk} />
    </div>
  );
}

function Code({ title, text }: { title: string; text: string }) {
  return (
    <section aria-label={title} className="min-w-0">
      <div className="row">
        <h3>{title}</h3>
        <span className="push">
          <CopyButton text={text} label={`Copy ${title}`} showLabel />
        </span>
      </div>
      <pre className="pre">
        <LongText text={text} />
      </pre>
    </section>
  );
}
