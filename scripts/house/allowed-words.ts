/** A word that is literally meant. At most 19. */
export type AllowedWord = { path: string; text: string; because: string };

export const ALLOWED_WORDS: readonly AllowedWord[] = [];
