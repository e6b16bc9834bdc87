CREATE TABLE organizations (
    id TEXT NOT NULL PRIMARY KEY,
    parent TEXT REFERENCES organizations (id),
    umbrella INTEGER NOT NULL CHECK (umbrella IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX organizations_by_parent ON organizations (parent);

CREATE TABLE accounts (
    key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE placements (
    organization TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account TEXT NOT NULL REFERENCES accounts (key) ON DELETE CASCADE,
    PRIMARY KEY (organization, account)
) STRICT, WITHOUT ROWID;
CREATE INDEX placements_by_account ON placements (account);

CREATE TABLE users (
    login TEXT NOT NULL PRIMARY KEY,
    active INTEGER NOT NULL CHECK (active IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE organization_grants (
    user TEXT NOT NULL REFERENCES users (login) ON DELETE CASCADE,
    organization TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    PRIMARY KEY (user, organization)
) STRICT, WITHOUT ROWID;
CREATE INDEX organization_grants_by_organization ON organization_grants (organization);

CREATE TABLE account_grants (
    user TEXT NOT NULL REFERENCES users (login) ON DELETE CASCADE,
    account TEXT NOT NULL REFERENCES accounts (key) ON DELETE CASCADE,
    PRIMARY KEY (user, account)
) STRICT, WITHOUT ROWID;
CREATE INDEX account_grants_by_account ON account_grants (account);

-- Of a key, only its SHA-256 is stored, in `hash`. `locator` is the first eight bytes of the hash as a signed big-endian number.
-- It selects candidates, whose whole hashes are then compared in constant time. `created` and `revoked` are seconds since 1970;
-- `revoked` is null while the key is accepted.
CREATE TABLE user_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL REFERENCES users (login) ON DELETE CASCADE,
    locator INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    created INTEGER NOT NULL,
    revoked INTEGER
) STRICT;
CREATE INDEX user_keys_by_locator ON user_keys (locator);
CREATE INDEX user_keys_by_user ON user_keys (user);

CREATE TABLE organization_keys (
    id INTEGER PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    locator INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE INDEX organization_keys_by_locator ON organization_keys (locator);
CREATE INDEX organization_keys_by_organization ON organization_keys (organization);

-- `expires` is in seconds since 1970.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (login) ON DELETE CASCADE,
    locator INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_locator ON sessions (locator);
CREATE INDEX sessions_by_user ON sessions (user);
CREATE INDEX sessions_by_expires ON sessions (expires);

-- `hour` is in hours since 1970, UTC.
CREATE TABLE hourly_counts (
    user TEXT NOT NULL REFERENCES users (login) ON DELETE CASCADE,
    hour INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (user, hour)
) STRICT, WITHOUT ROWID;
