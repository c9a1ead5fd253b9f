/** Without an audience, a token that the issuer made for any other application would be accepted here. */
export function configurationProblem({
  OIDC_ISSUER = "",
  OIDC_AUDIENCE = "",
}: {
  OIDC_ISSUER?: string;
  OIDC_AUDIENCE?: string;
}): string | null {
  if (OIDC_ISSUER === "" || OIDC_AUDIENCE !== "") return null;
  return "OIDC_AUDIENCE is empty: set it to the audience of this installation's tokens, or unset OIDC_ISSUER.";
}
