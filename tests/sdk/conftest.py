from hypothesis import settings

# A shared machine may stop a test for a moment; the stress program watches for inputs that are really slow.
settings.register_profile("tersely", deadline=None)
settings.load_profile("tersely")
