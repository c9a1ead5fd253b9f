ALTER TABLE `oauth_authorizations` ADD `next_attempt_at` text;--> statement-breakpoint
-- Tokens of keys that expire, or have expired.
UPDATE `oauth_tokens` SET `left_at` = (SELECT `expires_at` FROM `api_keys` WHERE `id` = substr(`oauth_tokens`.`owner`, 5)) WHERE `owner` LIKE 'key:%' AND `left_at` IS NULL;
