#!/usr/bin/env python3
"""A library in Django's admin, for the suite beside this file: its server, its reset, and its oracle.

    app.py serve PORT     serves the admin of one worker
    app.py reset          puts the database into the state that every episode starts from
    app.py oracle         says whether the database is as CUEBOOK_TASK wants it: exit code 0 if so, else 1

Each worker has a database of its own, below `target/eval/django`. `reset` copies a pristine one over it. The oracle reads
all tables that a task can touch and compares them with the pristine ones, changed as the task says, and nothing else.
"""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE.parent.parent / "target" / "eval" / "django"
PRISTINE = WORK / "pristine.sqlite3"
DATABASE = WORK / f"worker-{os.environ.get('CUEBOOK_WORKER', '0')}.sqlite3"
OPERATOR = ("operator", "Curtain-call-1843")


def configure(database: Path) -> None:
    """Django, with the models below and one database."""
    import django
    from django.conf import settings

    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(database)}},
        DEBUG=True,
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        INSTALLED_APPS=[
            "django.contrib.admin",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.messages",
            "django.contrib.sessions",
            "django.contrib.staticfiles",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        # Episodes log in each time, and do not measure a slow hash.
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        ROOT_URLCONF=__name__,
        SECRET_KEY="a suite has no secrets",
        STATIC_URL="static/",
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        USE_TZ=False,
    )
    django.setup()
    declare()


def declare() -> None:
    """The models, their admin, and the URLs."""
    from django.contrib import admin
    from django.contrib.auth.models import Group, User
    from django.db import models
    from django.urls import path

    class Author(models.Model):
        name = models.CharField(max_length=80, unique=True)

        class Meta:
            app_label = "auth"
            db_table = "library_author"

        def __str__(self):
            return self.name

    class Book(models.Model):
        title = models.CharField(max_length=120)
        author = models.ForeignKey(Author, on_delete=models.CASCADE)
        shelf = models.CharField(max_length=1, choices=[("a", "Archive"), ("o", "Open shelves"), ("r", "Reading room")])
        published = models.DateField(null=True, blank=True)
        due = models.DateTimeField(null=True, blank=True)
        lent = models.BooleanField(default=False)
        note = models.TextField(blank=True)

        class Meta:
            app_label = "auth"
            db_table = "library_book"

        def __str__(self):
            return self.title

    class Copy(models.Model):
        book = models.ForeignKey(Book, on_delete=models.CASCADE)
        code = models.CharField(max_length=20)

        class Meta:
            app_label = "auth"
            db_table = "library_copy"
            verbose_name_plural = "copies"

        def __str__(self):
            return self.code

    class CopyInline(admin.TabularInline):
        model = Copy
        extra = 1

    @admin.action(description="Mark selected books as lent")
    def lend(_admin, _request, books):
        books.update(lent=True)

    @admin.register(Author)
    class AuthorAdmin(admin.ModelAdmin):
        search_fields = ["name"]

    @admin.register(Book)
    class BookAdmin(admin.ModelAdmin):
        list_display = ["title", "author", "shelf", "lent"]
        list_filter = ["shelf", "lent"]
        search_fields = ["title"]
        ordering = ["title"]
        autocomplete_fields = ["author"]
        inlines = [CopyInline]
        actions = [lend]

    assert User and Group
    globals()["MODELS"] = (Author, Book, Copy)
    globals()["urlpatterns"] = [path("admin/", admin.site.urls)]


AUTHORS = ("Ada Lovelace", "Grace Hopper", "Mary Shelley")
BOOKS = (
    ("Compilers at Sea", "Grace Hopper", "o", 0),
    ("Frankenstein", "Mary Shelley", "r", 0),
    ("Mathilda", "Mary Shelley", "a", 1),
    ("Notes on the Engine", "Ada Lovelace", "o", 0),
    ("The Last Man", "Mary Shelley", "o", 0),
)
GROUPS = ("Librarians", "Readers")
USERS = (("bert", "Bert", "Brecht"), ("clara", "Clara", "Schumann"))


def make_pristine() -> None:
    """The database that every episode starts from."""
    from django.contrib.auth.models import Group, User
    from django.contrib.contenttypes.models import ContentType
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    author_of, (author, book, _copy) = {}, MODELS
    with connection.schema_editor() as editor:
        for model in MODELS:
            editor.create_model(model)
    # A server that made them in an episode would go on using them after a reset.
    ContentType.objects.get_for_models(*MODELS)
    for name in AUTHORS:
        author_of[name] = author.objects.create(name=name)
    for title, by, shelf, lent in BOOKS:
        book.objects.create(title=title, author=author_of[by], shelf=shelf, lent=bool(lent))
    for name in GROUPS:
        Group.objects.create(name=name)
    for name, first, last in USERS:
        User.objects.create_user(name, password="Interval-1901", first_name=first, last_name=last)
    User.objects.create_superuser(OPERATOR[0], password=OPERATOR[1])


# What is compared: all that a task can touch, without ids that a new row gets, and without dates of logins.
QUERIES = {
    "users": "SELECT username, first_name, last_name, email, is_staff, is_active FROM auth_user",
    "groups": "SELECT name FROM auth_group",
    "members": "SELECT u.username, g.name FROM auth_user_groups m JOIN auth_user u ON u.id = m.user_id "
    "JOIN auth_group g ON g.id = m.group_id",
    "permissions": "SELECT g.name, p.codename FROM auth_group_permissions m JOIN auth_group g ON g.id = m.group_id "
    "JOIN auth_permission p ON p.id = m.permission_id",
    "authors": "SELECT name FROM library_author",
    "books": "SELECT b.title, a.name, b.shelf, b.published, b.due, b.lent, b.note FROM library_book b "
    "JOIN library_author a ON a.id = b.author_id",
    "copies": "SELECT b.title, c.code FROM library_copy c JOIN library_book b ON b.id = c.book_id",
}


def world(database: Path) -> dict[str, set]:
    """All that the tables hold."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return {name: set(connection.execute(query).fetchall()) for name, query in QUERIES.items()}


def book(title: str, by: str, shelf: str = "o", published=None, due=None, lent=0, note="") -> tuple:
    return (title, by, shelf, published, due, lent, note)


# What each task takes from a table, and what it puts there.
CHANGES = {
    "create a user": [("users", set(), {("dora", "", "", "", 0, 1)})],
    "edit a user": [("users", {("bert", "Bert", "Brecht", "", 0, 1)}, {("bert", "Bertolt", "Brecht", "bert@example.com", 0, 1)})],
    "deactivate a user": [("users", {("clara", "Clara", "Schumann", "", 0, 1)}, {("clara", "Clara", "Schumann", "", 0, 0)})],
    "delete a user": [("users", {("clara", "Clara", "Schumann", "", 0, 1)}, set())],
    "put a user into a group": [("members", set(), {("bert", "Readers")})],
    "create a group": [("groups", set(), {("Guests",)})],
    "rename a group": [("groups", {("Readers",)}, {("Visitors",)})],
    "allow a group": [("permissions", set(), {("Librarians", "view_user")})],
    "add an author": [("authors", set(), {("Emmy Noether",)})],
    "due date": [("books", {book("Frankenstein", "Mary Shelley", "r")}, {book("Frankenstein", "Mary Shelley", "r", due="2027-03-14 09:30:00")})],
    "move to the archive": [("books", {book("The Last Man", "Mary Shelley")}, {book("The Last Man", "Mary Shelley", "a")})],
    "add a copy": [("copies", set(), {("Frankenstein", "F-1")})],
    "lend two books": [
        (
            "books",
            {book("Compilers at Sea", "Grace Hopper"), book("Notes on the Engine", "Ada Lovelace")},
            {book("Compilers at Sea", "Grace Hopper", lent=1), book("Notes on the Engine", "Ada Lovelace", lent=1)},
        )
    ],
    "filter and open": [("books", {book("Mathilda", "Mary Shelley", "a", lent=1)}, {book("Mathilda", "Mary Shelley", "a")})],
    "search and note": [("books", {book("Notes on the Engine", "Ada Lovelace")}, {book("Notes on the Engine", "Ada Lovelace", note="Rebind")})],
    "delete a book": [("books", {book("Compilers at Sea", "Grace Hopper")}, set())],
}


def judge(task: str) -> str | None:
    """What is wrong with the database, if anything is."""
    if task not in CHANGES:
        return f"the oracle does not know the task {task!r}"
    wanted = world(PRISTINE)
    for table, gone, new in CHANGES[task]:
        wanted[table] = (wanted[table] - gone) | new
    seen = world(DATABASE)
    wrong = []
    for table, rows in wanted.items():
        if seen[table] != rows:
            missing, extra = sorted(map(str, rows - seen[table])), sorted(map(str, seen[table] - rows))
            wrong.append(f"{table}: missing {missing}, not wanted {extra}")
    return "; ".join(wrong) or None


def main(words: list[str]) -> int:
    match words:
        case ["serve", port]:
            from django.core.management import call_command

            WORK.mkdir(parents=True, exist_ok=True)
            if not PRISTINE.exists():
                # Another worker may be making it, too: the last to rename has made the same.
                unfinished = WORK / f"unfinished-{os.getpid()}.sqlite3"
                configure(unfinished)
                make_pristine()
                unfinished.rename(PRISTINE)
                os.execv(sys.executable, [sys.executable, __file__, *words])
            shutil.copyfile(PRISTINE, DATABASE)
            configure(DATABASE)
            call_command("runserver", f"127.0.0.1:{port}", use_reloader=False, skip_checks=True)
            return 0
        case ["reset"]:
            shutil.copyfile(PRISTINE, DATABASE)
            return 0
        case ["oracle"]:
            wrong = judge(os.environ.get("CUEBOOK_TASK", ""))
            print(wrong or "as wanted")
            return 1 if wrong else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
