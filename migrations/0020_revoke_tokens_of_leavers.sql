ALTER TABLE `oauth_tokens` ADD `left_at` text;
--> statement-breakpoint
CREATE INDEX `oauth_tokens_by_left` ON `oauth_tokens` (`left_at`) WHERE left_at IS NOT NULL;
--> statement-breakpoint
UPDATE `oauth_tokens` SET `left_at` = strftime('%Y-%m-%dT%H:%M:%fZ', 'now');
--> statement-breakpoint
CREATE TRIGGER `tokens_of_deleted_memberships` AFTER DELETE ON `memberships` BEGIN UPDATE `oauth_tokens` SET `left_at` = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE `workspace_id` = OLD.`workspace_id` AND `owner` = 'user:' || OLD.`user_id`; END;
--> statement-breakpoint
CREATE TRIGGER `tokens_of_former_admins` AFTER UPDATE OF `organization_role` ON `users` BEGIN UPDATE `oauth_tokens` SET `left_at` = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE `owner` = 'user:' || NEW.`id` AND `workspace_id` IN (SELECT `id` FROM `workspaces` WHERE `organization_id` = NEW.`organization_id`); END;
--> statement-breakpoint
CREATE TRIGGER `tokens_of_deleted_users` AFTER DELETE ON `users` BEGIN UPDATE `oauth_tokens` SET `left_at` = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE `owner` = 'user:' || OLD.`id` AND `workspace_id` IN (SELECT `id` FROM `workspaces` WHERE `organization_id` = OLD.`organization_id`); END;
--> statement-breakpoint
CREATE TRIGGER `tokens_of_revoked_keys` AFTER UPDATE OF `revoked_at` ON `api_keys` WHEN NEW.`revoked_at` IS NOT NULL BEGIN UPDATE `oauth_tokens` SET `left_at` = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE `owner` = 'key:' || NEW.`id` AND `workspace_id` IN (SELECT `id` FROM `workspaces` WHERE `organization_id` = NEW.`organization_id`); END;
--> statement-breakpoint
CREATE TRIGGER `tokens_of_deleted_keys` AFTER DELETE ON `api_keys` BEGIN UPDATE `oauth_tokens` SET `left_at` = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE `owner` = 'key:' || OLD.`id` AND `workspace_id` IN (SELECT `id` FROM `workspaces` WHERE `organization_id` = OLD.`organization_id`); END;
