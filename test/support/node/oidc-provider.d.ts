/** The part of oidc-provider that the tests use; it comes without types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  type Grant = {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  };
  type Interaction = {
    grantId?: string;
    session?: { accountId: string };
    params: { client_id: string; login_hint?: string; scope?: string; resource?: string };
  };
  export type AccessToken = { accountId: string; clientId: string; scope: string; aud?: string };

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (ctx: { oidc: { params?: Record<string, string> } }) => void): void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
    ): Promise<void>;
    Grant: { new (fields: object): Grant; find(id: string): Promise<Grant> };
    AccessToken: { find(value: string): Promise<AccessToken | undefined> };
  }
}
