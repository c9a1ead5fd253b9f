CREATE TRIGGER `audit_logs_keep` BEFORE UPDATE ON `audit_logs` BEGIN SELECT RAISE(ABORT, 'audit_logs is append-only'); END;--> statement-breakpoint
CREATE TRIGGER `audit_logs_stay` BEFORE DELETE ON `audit_logs` BEGIN SELECT RAISE(ABORT, 'audit_logs is append-only'); END;
