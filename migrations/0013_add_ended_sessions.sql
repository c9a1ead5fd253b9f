CREATE TABLE `ended_sessions` (
	`sha256` text NOT NULL,
	`organization_id` text NOT NULL,
	`expires_at` text NOT NULL,
	PRIMARY KEY(`sha256`, `organization_id`)
);
--> statement-breakpoint
CREATE INDEX `ended_sessions_by_expiry` ON `ended_sessions` (`expires_at`);--> statement-breakpoint
CREATE TRIGGER `changes_of_ended_sessions` AFTER INSERT ON `ended_sessions` BEGIN INSERT INTO `changes` (`scope`, `version`) VALUES (NEW.`organization_id`, (SELECT coalesce(max(`version`), 0) + 1 FROM `changes`)) ON CONFLICT (`scope`) DO UPDATE SET `version` = excluded.`version`; END;
