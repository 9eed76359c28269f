"""What does a text tell that was compressed before anybody asked?"""
