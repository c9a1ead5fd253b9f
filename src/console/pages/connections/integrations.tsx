import { useState } from "react";
import type {
  Integration,
  Webhook,
} from "../../../control-plane/deployments/git/integration-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath, under } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatCount } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { NewIntegration } from "./new-integration.tsx";
import { RemoveButton } from "./remove.tsx";

const PATH = apiPath`/v1/integrations/github`;
const INSTALL = under(PATH)`/install`;

export function Integrations() {
  const query = useApiQuery<Integration[]>(INSTALL);
  const mayWrite = useMay("write");
  const [isOpen, setOpen] = useState(false);
  return (
    <QueryState query={query} what="The integrations could not be read" rows={2}>
      {(rows) => (
        <Panel
          title="Integrations"
          end={
            mayWrite && (
              <button type="button" className="btn sm" onClick={() => setOpen(true)}>
                <Icon name="plus" small /> New integration
              </button>
            )
          }
          footer={formatCount(rows.length, "integration")}
        >
          {rows.length === 0 ? (
            <Empty title="No integrations">
              An integration has the token of a repository host, for private repositories and for a
              build on each push.
            </Empty>
          ) : (
            <ul aria-label="Integrations">
              {rows.map((row) => (
                <Row key={row.id} integration={row} />
              ))}
            </ul>
          )}
          {isOpen && <NewIntegration path={INSTALL} onClose={() => setOpen(false)} />}
        </Panel>
      )}
    </QueryState>
  );
}

function Row({ integration: { id, name, api_url } }: { integration: Integration }) {
  const mayWrite = useMay("write");
  const [isShown, setShown] = useState(false);
  return (
    <li className="in-p border-b border-line-soft grid gap-2">
      <div className="row wrap">
        <span className="m break-words min-w-0">{name}</span>
        <code className="sm dim break-all">{api_url}</code>
        <span className="push row">
          {mayWrite && (
            <button
              type="button"
              className="btn sm"
              aria-expanded={isShown}
              onClick={() => setShown(!isShown)}
            >
              Push webhook
            </button>
          )}
          <RemoveButton
            action="delete"
            name={name}
            path={under(PATH)`/${id}`}
            invalidates={[PATH]}
            act="Delete integration"
          >
            Its credentials are deleted. Builds of its private repositories fail from now on, and a
            push builds nothing.
          </RemoveButton>
        </span>
      </div>
      {isShown && <PushWebhook id={id} />}
    </li>
  );
}

/** The URL and the secret to enter at the repository host. The API returns them to editors and admins only. */
function PushWebhook({ id }: { id: string }) {
  const query = useApiQuery<Webhook>(under(PATH)`/${id}/webhook`);
  return (
    <QueryState query={query} what="The push webhook could not be read" rows={2}>
      {({ url, secret }) => (
        <dl className="kv">
          <dt>URL</dt>
          <dd className="row">
            <code className="break-all">{url}</code>
            <CopyButton text={url} label="Copy the URL" />
          </dd>
          <dt>Secret</dt>
          <dd className="row">
            <span className="dim">hidden</span>
            <CopyButton text={secret} label="Copy the secret" showLabel />
          </dd>
        </dl>
      )}
    </QueryState>
  );
}
