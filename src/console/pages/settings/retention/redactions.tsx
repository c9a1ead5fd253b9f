import { type FormEvent, useState } from "react";
import type { Project } from "../../../../traces/projects/schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { TextAreaField } from "../../../ui/form/field.tsx";
import { FormFooter } from "../../../ui/form/form-footer.tsx";
import { cutText, formatCount } from "../../../ui/formats.ts";
import { ErrorState } from "../../../ui/states.tsx";
import { useToast } from "../../../ui/toasts.tsx";

type Redactions = NonNullable<Project["redactions"]>;
type Props = { project: Project };

const NONE: Redactions = { emails: false, keys: false, patterns: [] };

/** Shows the kinds of texts that are replaced in new traces of a project. Editors change them. */
export function ProjectRedactions({ project }: Props) {
  const mayWrite = useMay("write");
  const [isOpen, setOpen] = useState(false);
  const text = textOf(project.redactions ?? NONE);
  if (!mayWrite) return text;
  return (
    <>
      <button
        type="button"
        className="btn sm"
        aria-label={`Redaction of ${cutText(project.name, 100)}: ${text}`}
        onClick={() => setOpen(true)}
      >
        {text}
      </button>
      {isOpen && <RedactionsDialog project={project} onClose={() => setOpen(false)} />}
    </>
  );
}

function textOf({ emails, keys, patterns }: Redactions): string {
  const parts = [
    ...(emails ? ["e-mails"] : []),
    ...(keys ? ["keys"] : []),
    ...(patterns.length > 0 ? [formatCount(patterns.length, "expression")] : []),
  ];
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

function RedactionsDialog({ project, onClose }: Props & { onClose: () => void }) {
  const { emails, keys, patterns } = project.redactions ?? NONE;
  const toast = useToast();
  const change = useApiChange<FormData, Project>({
    method: "PATCH",
    path: apiPath`/api/v1/sessions/${project.id}`,
    body: toRequest,
    invalidates: [apiPath`/api/v1/sessions`],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    change.mutate(new FormData(event.currentTarget), {
      onSuccess: ({ redactions }) => {
        toast(`New traces lose: ${textOf(redactions ?? NONE)}`);
        onClose();
      },
    });
  };
  return (
    <Dialog title={`Redaction of ${project.name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <p className="mid">
            Matches are replaced before a run is stored. Stored runs and attachments stay as they
            are.
          </p>
          <label className="check">
            <input type="checkbox" name="emails" defaultChecked={emails} />
            <span>E-mail addresses</span>
          </label>
          <label className="check">
            <input type="checkbox" name="keys" defaultChecked={keys} />
            <span>API keys and tokens of known forms</span>
          </label>
          <TextAreaField
            label="Own expressions, one a line, in the syntax of RE2"
            name="patterns"
            className="mono"
            rows={4}
            defaultValue={patterns.join("\n")}
          />
          {change.error && <ErrorState what="The redaction was not changed" error={change.error} />}
        </div>
        <FormFooter act="Save" busy="Saving" isBusy={change.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function toRequest(form: FormData) {
  const lines = String(form.get("patterns")).split("\n");
  const redactions: Redactions = {
    emails: form.has("emails"),
    keys: form.has("keys"),
    patterns: lines.map((line) => line.trim()).filter((line) => line !== ""),
  };
  const { emails, keys, patterns } = redactions;
  return { redactions: emails || keys || patterns.length > 0 ? redactions : null };
}
