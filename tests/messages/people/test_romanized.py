"""Names in other scripts: which Latin spellings are theirs, and which are other people's."""

from __future__ import annotations

import pytest

from dataprep.messages.people.romanized import plain, romanizations, script_of

SAME = {
    "كريم بنعلي": "Karim Benali;Kareem Ben Ali;Karim Ben-Ali",
    "كريمة بنعلي": "Karima Benali",
    "محمد العلوي": "Mohamed Alaoui;Muhammad Al-Alawi;Mohammed El Alaoui",
    "عبد الرحمن الفاسي": "Abderrahmane El Fassi;Abdul Rahman Fasi;Abdelrahman Al-Fassi",
    "عبد الله منصور": "Abdallah Mansour;Abdullah Mansur",
    "حسن الإدريسي": "Hassan Idrissi;Hasan El Idrissi",
    "حسين الإدريسي": "Hussein Idrissi;Houcine El Idrissi",
    "سعيد بلقاسم": "Said Belkacem;Saïd Belkacem;Saeed Belqasim",
    "سعد بلقاسم": "Saad Belkacem",
    "فاطمة الزهراء": "Fatima Zahra;Fatima Ezzahra;Fatma Zohra",
    "يوسف أمين": "Youssef Amine;Yusuf Amin",
    "نور الهدى": "Nour El Houda;Noor Alhuda",
    "خديجة شاكر": "Khadija Chaker;Khadija Shakir",
    "كامل عزيز": "Kamel Aziz",
    "كمال عزيز": "Kamal Aziz",
    "أيمن رشيد": "Aymen Rachid;Ayman Rashid",
    "إيمان رشيد": "Imane Rachid;Iman Rashid",
    "أيوب الناصري": "Ayoub Naciri;Ayyub An-Nasiri",
    "مريم سلام": "Maryam Salam;Meriem Salam;Mariam Salam",
    "سمية داود": "Soumaya Daoud;Sumaya Dawood",
    "عمر الخطيب": "Omar El Khatib;Umar Al-Khatib",
    "علي حسن": "Ali Hassan;3li Hassan",
    "عائشة بناني": "Aicha Bennani;Aisha Bennani",
    "زينب قاسم": "Zaynab Kacem;Zineb Qasim",
    "يحيى نجيب": "Yahya Najib;Yahia Najeeb",
    "إسماعيل نعيم": "Ismail Naim;Ismael Naeem",
    "سعاد حميد": "Souad Hamid;Suad Hameed",
    "عثمان مسعود": "Othman Messaoud;Otmane Masoud",
    "هند الورزازي": "Hind Ouarzazi;Hind El Ouarzazi",
    "خالد جمال": "Khalid Jamal;Khaled Djamal",
    "Александр Иванов": "Alexander Ivanov;Aleksandr Ivanov",
    "Наталья Соколова": "Natalia Sokolova;Natalya Sokolova",
    "Юрий Щербаков": "Yuri Shcherbakov;Yuriy Scherbakov",
    "Мария Королёва": "Maria Koroleva;Mariya Korolyova",
    "Сергей Жуков": "Sergey Zhukov;Sergei Joukov",
    "Ольга Чехова": "Olga Chekhova;Olga Tchekhova",
    "Дмитрий Петров": "Dmitry Petrov;Dmitri Petroff",
    "Γιώργος Παπαδόπουλος": "Giorgos Papadopoulos;Yiorgos Papadopoulos",
    "Ελένη Παπαδοπούλου": "Eleni Papadopoulou",
    "Άννα Χατζή": "Anna Hatzi;Anna Chatzi",
    "Νίκος Μπάρκας": "Nikos Barkas",
    "דנה לוי": "Dana Levi;Dana Levy",
    "דני לוי": "Dani Levi;Danny Levy",
    "משה כהן": "Moshe Cohen;Moshe Kohen",
    "שרה פרידמן": "Sarah Friedman;Sara Fridman",
    "נועה בן דוד": "Noa Ben David",
    "יוסף מזרחי": "Yosef Mizrahi;Yosef Mizrachi",
}
OTHERS = {
    "كريم بنعلي": "Karima Benali;Kamal Benali;Karim Bennani",
    "كامل عزيز": "Kamal Aziz",
    "كمال عزيز": "Kamel Aziz;Kamil Aziz",
    "حسن الإدريسي": "Hussein Idrissi;Houcine Idrissi",
    "سعد بلقاسم": "Said Belkacem",
    "سعيد بلقاسم": "Saad Belkacem;Sad Belkacem",
    "أمين رشيد": "Amina Rachid;Imane Rachid",
    "إيمان رشيد": "Ayman Rachid",
    "أيمن رشيد": "Imane Rachid",
    "أمينة العلوي": "Amine Alaoui;Amin Alaoui",
    "سليم حسن": "Salem Hassan;Salim Hussein;Salma Hassan",
    "سالم حسن": "Selim Hassan;Salam Hassan",
    "جمال نور": "Jamil Nour",
    "جميل نور": "Jamal Nour",
    "سمير داود": "Samira Daoud;Samar Daoud",
    "خالد علي": "Khalida Ali;Khouloud Ali",
    "علي حسن": "Alia Hassan;Hassan Ali",
    "محمد العلوي": "Mahmoud Alaoui;Ahmed Alaoui;Hamid Alaoui",
    "محمود العلوي": "Mohamed Alaoui",
    "Наталия Иванов": "Natalia Ivanova",
    "Иван Петров": "Ivana Petrov;Ivan Petrova",
    "Παπαδόπουλος Γιώργος": "Giorgia Papadopoulos",
    "Γιώργος Παππάς": "Giorgia Pappas",
    "דנה לוי": "Dani Levi;Dan Levi",
    "דני לוי": "Dana Levi;Dan Levi",
    "דן לוי": "Dana Levi;Dani Levi;Adi Levi",
}


def is_same_name(latin, other):
    """Whether a name in Latin letters is a romanization of a name in another script."""
    pattern = romanizations(other)
    return pattern is not None and pattern.fullmatch(plain(latin)) is not None


@pytest.mark.parametrize("name", list(SAME))
def test_spellings_of_a_name(name):
    """Each usual spelling in Latin letters is found, with or without hyphens, accents and apostrophes."""
    assert [latin for latin in SAME[name].split(";") if not is_same_name(latin, name)] == []


@pytest.mark.parametrize("name", list(OTHERS))
def test_names_of_others(name):
    """The name of a brother, a sister or a parent is not a spelling of it."""
    assert [latin for latin in OTHERS[name].split(";") if is_same_name(latin, name)] == []


def test_every_name_of_the_table_is_only_its_own():
    """No spelling of a name in the table fits another name of it."""
    wrong = {
        (latin, other) for name, spelled in SAME.items() for latin in spelled.split(";") for other in SAME
        if other != name and is_same_name(latin, other)
    }  # fmt: skip
    assert wrong == set()


def test_scripts():
    """Names in Latin letters, in several scripts, and of scripts without a table have no romanizations."""
    assert [script_of(name) for name in ("Zoë 🌻", "كريم", "Иван", "Ελένη", "דנה", "李", "Иван Lund", "7")] == [
        "latin", "arabic", "cyrillic", "greek", "hebrew", "", "", "",
    ]  # fmt: skip
    assert [romanizations(name) for name in ("Zoë", "李", "Иван Lund", "")] == [None] * 4


def test_scripts_by_the_projects_tables():
    """The script of all letters; none for several scripts, others, and characters newer than the tables."""
    names = {"Zoë O'Brien": "latin", "كَريم 2": "arabic", "Журавлёва": "cyrillic", "Ελένη": "greek", "יעל": "hebrew"}
    assert {name: script_of(name) for name in names} == names
    assert [script_of(name) for name in ("Ilse Ελένη", "王小明", "김민수", "❤️ 7_", "\U000107b2")] == [""] * 5
