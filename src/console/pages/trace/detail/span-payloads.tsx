import { useState } from "react";
import type { TraceRun } from "../../../../traces/query/run-schema.ts";
import { send } from "../../../api/client.ts";
import { useWorkspaceId } from "../../../api/hooks.ts";
import { parseApiUrl } from "../../../api/path.ts";
import { Icon } from "../../../ui/icon.tsx";
import { ErrorState } from "../../../ui/states.tsx";
import { Bytes } from "../../../ui/values.tsx";
import { Payload } from "./payload.tsx";

export function SpanPayloads({ run }: { run: TraceRun }) {
  return (
    <div className="stack">
      <Payload label="Input" value={run.inputs} none="none" />
      <Payload label="Output" value={run.outputs} none={noneOf(run)} />
      <Attachments run={run} />
    </div>
  );
}

function noneOf({ status }: TraceRun): string {
  return { error: "none, the call failed", pending: "none yet", success: "none" }[status];
}

function Attachments({ run }: { run: TraceRun }) {
  const files = Object.entries(run.files);
  if (files.length === 0) return null;
  return (
    <div className="col">
      <h3>Attachments</h3>
      <ul className="col">
        {files.map(([name, file]) => (
          <li key={name}>
            <Attachment name={name} file={file} />
          </li>
        ))}
      </ul>
    </div>
  );
}

type AttachmentProps = { name: string; file: TraceRun["files"][string] };

/** Saves an attachment as a file. The page never renders its content, which anyone may have sent. */
function Attachment({ name, file: { content_type, bytes, url } }: AttachmentProps) {
  const workspace = useWorkspaceId();
  const [error, setError] = useState<Error | null>(null);
  const save = async () => {
    setError(null);
    const { path, query } = parseApiUrl(url, location.origin);
    const response = await send(path, { workspace, query });
    const address = URL.createObjectURL(await response.blob());
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <>
      <div className="row">
        <Icon name="document" />
        <bdi className="cut" title={name}>
          {name}
        </bdi>
        <span className="dim sm nw">
          {content_type}, <Bytes value={bytes} />
        </span>
        <button type="button" className="btn sm push" onClick={() => save().catch(setError)}>
          <Icon name="download" small /> Save
        </button>
      </div>
      {error && <ErrorState what="The attachment could not be read" error={error} />}
    </>
  );
}
