import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay } from "../../api/session.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Field } from "../../ui/form/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { emptySecret, type SecretRow, SecretRows } from "./secret-rows.tsx";

const ABOVE = [{ label: "Deployments", path: "/deployments" }];

export function NewDeploymentPage() {
  const mayWrite = useMay("write");
  return (
    <>
      <TopBar above={ABOVE} title="New deployment" />
      <PageHeader title="New deployment" sub="An agent from a git repository, or from a folder." />
      {mayWrite ? (
        <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_384px] items-start">
          <RepositoryForm />
          <CommandLine />
        </div>
      ) : (
        <Empty title="Your role reads only">Editors and admins create deployments.</Empty>
      )}
    </>
  );
}

function RepositoryForm() {
  const [secrets, setSecrets] = useState<SecretRow[]>([emptySecret()]);
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  const create = useApiChange<object, Deployment>({
    path: apiPath`/v2/deployments`,
    body: (input) => input,
    invalidates: ["/v2/deployments"],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = toRequest(new FormData(event.currentTarget), secrets);
    create.mutate(input, {
      onSuccess: ({ id }) => void navigate({ to: pathTo(workspace, `/deployments/${id}`) }),
    });
  };
  return (
    <form className="panel" onSubmit={submit}>
      <header>
        <h2>From a repository</h2>
      </header>
      <div className="in-p grid gap-4">
        <RepositoryFields />
        <SecretRows rows={secrets} onChange={setSecrets} />
        <label className="check">
          <input type="checkbox" name="build_on_push" />
          <span>Build on push: a push to the branch creates a revision</span>
        </label>
        {create.error && (
          <ErrorState
            what="The deployment was not created"
            error={create.error}
            intact="What you typed is still here."
          />
        )}
      </div>
      <footer>
        <button type="submit" className="btn pri push" disabled={create.isPending}>
          <Icon name="plus" /> {create.isPending ? "Creating" : "Create and build"}
        </button>
      </footer>
    </form>
  );
}

function RepositoryFields() {
  return (
    <>
      <Field
        name="repo_url"
        label="Repository URL"
        type="url"
        required
        placeholder="https://github.com/acme/support-agent"
      >
        Any git host that answers over HTTPS. A private one needs an integration.
      </Field>
      <div className="grid gap-4 md:grid-cols-2">
        <Field
          name="name"
          label="Name"
          required
          pattern="[a-z0-9\-]{1,63}"
          placeholder="support-agent"
        >
          1 to 63 characters of a-z, 0-9 and -. Part of the URL.
        </Field>
        <Field name="repo_ref" label="Branch, tag or commit" defaultValue="main">
          A tag is refs/tags/NAME.
        </Field>
      </div>
      <Field name="path" label="Configuration file" defaultValue="langgraph.json">
        Path inside the repository.
      </Field>
    </>
  );
}

function toRequest(form: FormData, secrets: SecretRow[]) {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  return {
    name: text("name"),
    source: "github",
    source_config: {
      repo_url: text("repo_url"),
      deployment_type: "dev",
      build_on_push: form.get("build_on_push") !== null,
    },
    source_revision_config: {
      repo_ref: text("repo_ref") || null,
      langgraph_config_path: text("path") || "langgraph.json",
    },
    secrets: secrets
      .filter(({ name }) => name.trim() !== "")
      .map(({ name, value }) => ({ name: name.trim(), value })),
  };
}

/** The three commands that upload a folder with the LangGraph CLI. */
function CommandLine() {
  const commands = [
    "export LANGSMITH_API_KEY=lsv2_sk_...",
    "cd my-agent",
    `npx @langchain/langgraph-cli@1.5.1 deploy --remote --name my-agent --host-url ${location.origin} --api-key $LANGSMITH_API_KEY`,
  ];
  return (
    <Panel title="From a folder, by the command line">
      <ol className="in-p grid gap-2">
        {commands.map((command) => (
          <li key={command} className="row">
            <code className="sm grow break-all bg-inset border border-line rounded-md px-2 py-1">
              {command}
            </code>
            <CopyButton text={command} label={`Copy ${command.split(" ")[0]}`} />
          </li>
        ))}
      </ol>
      <footer>The folder is uploaded and built as it is, without a repository.</footer>
    </Panel>
  );
}
