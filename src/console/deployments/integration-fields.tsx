import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Integration } from "../../control-plane/deployments/git/integration-schema.ts";
import { useApiQuery, useWorkspaceId } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";
import { pathTo } from "../state/path.ts";
import { SelectField } from "../ui/form/field.tsx";
import { shortId } from "../ui/formats.ts";

type Props = { integration_id: string | null; build_on_push: boolean; disabled?: boolean };

/**
 * The fields `integration_id` and `build_on_push` of a form. Pushes are received by the webhook of an integration only.
 */
export function IntegrationFields({ integration_id, build_on_push, disabled = false }: Props) {
  const [chosen, setChosen] = useState(integration_id ?? "");
  const { data } = useApiQuery<Integration[]>(apiPath`/v1/integrations/github/install`);
  const isKnown = chosen === "" || data?.some(({ id }) => id === chosen);
  return (
    <>
      <SelectField
        label="Integration"
        name="integration_id"
        value={chosen}
        disabled={disabled}
        onChange={(event) => setChosen(event.target.value)}
        hint={<Hint isEmpty={data?.length === 0} isChosen={chosen !== ""} />}
      >
        <option value="">None: the repository is public</option>
        {!isKnown && <option value={chosen}>{shortId(chosen)}</option>}
        {data?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <label className="check">
        <input
          type="checkbox"
          name="build_on_push"
          defaultChecked={build_on_push}
          disabled={disabled || chosen === ""}
        />
        <span>
          Build on push: a push to the branch creates a revision
          {chosen === "" && <span className="dim">. Needs an integration</span>}
        </span>
      </label>
    </>
  );
}

function Hint({ isEmpty, isChosen }: { isEmpty: boolean; isChosen: boolean }) {
  const workspace = useWorkspaceId();
  const connections = <Link to={pathTo(workspace, "/connections")}>Connections</Link>;
  if (isEmpty) return <>A private repository needs one: create it in {connections}.</>;
  if (isChosen) return <>Its webhook, which a build on push needs, is in {connections}.</>;
  return "A private repository needs one, and so does a build on push.";
}

/** Returns the fields of a request. `null` removes the integration. */
export function integrationOf(form: FormData) {
  const chosen = String(form.get("integration_id") ?? "");
  return {
    integration_id: chosen === "" ? null : chosen,
    build_on_push: chosen !== "" && form.get("build_on_push") !== null,
  };
}
