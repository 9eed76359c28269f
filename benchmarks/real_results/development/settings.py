"""Two versions of a file of settings."""

from __future__ import annotations

_SETTINGS = {
    "database": {"host": "db-1.internal", "port": "5432", "pool_size": "20", "statement_timeout": "15s"},
    "cache": {"backend": "redis", "url": "redis://cache:6379/2", "default_ttl": "900", "prefix": "shop:"},
    "mail": {
        "relay": "smtp.internal:587",
        "starttls": "required",
        "sender": "noreply@shop.example",
        "rate": "40/m",
    },
    "search": {"engine": "opensearch", "shards": "6", "replicas": "1", "refresh_interval": "5s"},
    "uploads": {"bucket": "shop-uploads", "max_size": "25MB", "scan": "clamav", "expire_days": "30"},
    "sessions": {"lifetime": "14d", "cookie": "sid", "same_site": "lax", "rotate_after": "24h"},
    "jobs": {"workers": "8", "prefetch": "2", "visibility_timeout": "120s", "dead_letter_after": "5"},
    "payments": {"provider": "adyen", "capture": "manual", "webhook_tolerance": "300s", "currency": "EUR"},
    "logging": {"level": "info", "format": "json", "sample": "1.0", "redact": "password,token"},
    "features": {"new_checkout": "off", "gift_cards": "on", "dark_mode": "on", "reviews": "moderated"},
}


def _write_settings(changes: dict[tuple[str, str], str | None], extra: str = "") -> str:
    parts: list[str] = []
    for copy in ("production", "standby", "canary", "staging", "preview", "training", "local"):
        for section, values in _SETTINGS.items():
            parts.append(f"[{copy}.{section}]")
            for key, value in values.items():
                changed = changes.get((f"{copy}.{section}", key), value)
                parts += (
                    [f"# {key.replace('_', ' ')} of the {section} of {copy}"] if key == min(values) else []
                )
                parts += [f'{key} = "{changed}"'] if changed is not None else []
            parts.append("")
    return "\n".join(parts) + extra


OLD_SETTINGS = _write_settings({})


NEW_SETTINGS = _write_settings(
    {
        ("production.database", "pool_size"): "48",
        ("production.cache", "default_ttl"): "300",
        ("production.mail", "relay"): "relay.eu.mailhub.example:465",
        ("production.uploads", "scan"): "yara",
        ("production.jobs", "visibility_timeout"): "600s",
        ("production.payments", "capture"): "automatic",
        ("production.sessions", "rotate_after"): None,
        ("staging.search", "shards"): "2",
        ("staging.database", "statement_timeout"): "90s",
        ("staging.logging", "sample"): "0.25",
        ("staging.features", "new_checkout"): "on",
        ("preview.sessions", "lifetime"): "2h",
        ("preview.uploads", "max_size"): "5MB",
        ("preview.jobs", "workers"): "1",
    },
    '[production.alerts]\nchannel = "#shop-oncall"\nquiet_hours = "23:00-06:30"\n',
)


SETTINGS = {"settings.old.toml": OLD_SETTINGS, "settings.new.toml": NEW_SETTINGS}
