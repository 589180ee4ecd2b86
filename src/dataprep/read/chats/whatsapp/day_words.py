"""Words for parts of the day in message headers (`9:12 in the morning`) by meaning, from Unicode's locale data (CLDR).

`NOON` is added to the hours from 12 on, `NIGHT` to the hours from 6 to 11 (see `scan.py`).
"""

from __future__ import annotations

from . import fields as F

DAY_WORDS = {
    F.AM: """
aamu | aamulla | aamup. | aamupäivä | aamupäivällä | alfajiri | am morge | asb | asubuhi | asʊbaa | að morgni | bore |
da madrugada | da manhã | da mattin | da mañá | de la madrugada | de la mañana | di mattina | die oggend | dimineața |
dop. | dopol. | dopoldan | dopoldne | dopoledne | dopoludnia | dopoludnie | du matin | délelőtt | e mëngjesit |
e paradites | ekuseni | entathakusa | ertalab | form. | formiddag | förm. | förmiddag | fɔŋli | gajaka | gjk | goiz. |
goiza | goizald. | goizaldea | goizaldeko | goizeko | hommik | hommikul | in the morning | jut. | jutro | kusãg ki |
kuêma ramẽ | madrugada | manhã | mat. | matin | matinada | mattin | mattina | matí | mañana | mañá | morg. | morge |
morgen | morgens | morgon | morgunn | morning | mrg. | mëngjes | ng umaga | no rīta | ochtend | oggend |
om formiddagen | om morgenen | pagi | paradite | przed poł. | przed południem | przedpoł. | przedpołudnie |
på formiddagen | på förm. | på förmiddagen | på morg. | på morgenen | på morgonen | rano | reggel | rytas | ráno |
rīts | sabah | sáng | sübh | səhər | ujutro | umaga | vorm. | vormittag | vormittags | y bore | yn y bore | zjut. |
zjutraj | öğleden önce | ŋdi | πρωί | το πρωί | на обяд | наутро | претпл. | претпладне | ранку | ранок | сутринта |
таң | таңғы | утра | утро | ујутру | эртең менен | эртң мн | јутро | өглөө | առավոտ | առավոտյան | առվ | בבוקר | בוקר |
بامداد | صباحًا | صبح | صبح میں | فجرًا | في الصباح | पहाट | बिहान | भोर | सकाळ | सुबह | ভোর | ভোরবেলায় | সকাল |
সকালবেলায় | ਸਵੇਰੇ | સવાર | સવારે | அதி. | அதிகாலை | காலை | ఉదయం | ಬೆಳಗ್ಗೆ | പുലർച്ചെ | രാവിലെ | උදේ | පාන්දර |
ตอนเช้า | รุ่งเช้า | เช้า | ในตอนเช้า | ຕອນເຊົ້າ | ເຊົ້າ | နံနက် | დილ. | დილა | დილით | ጥዋት | នៅពេលព្រឹក | ព្រឹក |
’s ochtends | 上午 | 凌晨 | 早上 | 早晨 | 朝 | 朝早 | 清晨 | 새벽 | 아침 | 오전
""",
    F.PM: """
aabig | aand | abend | abends | aften | afternoon | akşam | akşamüstü | alasiri | am namittag | ap.m. | arrats. |
arratsaldea | arratsaldeko | avond | axşamüstü | að kvöldi | chiều | da seia | da tarde | de la tarde |
del pomeriggio | di pomeriggio | di sera | die aand | die middag | diena | do mediodía | do poidisnâ | du soir |
délután | e mbrëmjes | e pasdites | efterm. | eftermiddag | eftir hádegi | eguerd. | eguerdia | eguerdiko | emini |
este | etterm. | ettermiddag | evening | fiẽ | gjb | gshk | gtsh | gündüz | gɩjibɔŋɔ | gɩshilikɔnɔ | gɩteŋshile |
hapon | illalla | ilta | iltap. | iltapäivä | iltapäivällä | iluntz. | iluntzea | iluntzeko | in the afternoon |
in the evening | jioni | karuka ramẽ | kechqurun | kunduzi | kuty kỹ | kveld | kväll | kvöld | mbrëmje | middag |
migdia | min nos | mittag | mittags | nachm. | nachmittag | nachmittags | namittag | navečer | ng hapon | ntambama |
odp. | odpoledne | om aftenen | om eftermiddagen | pasdite | petang | pituna ramẽ | po poł. | po południu | poidisnâ |
pomeriggio | pop. | popietė | popodne | popol. | popoldan | popoldne | popoludnie | popoludní | popoł. | popołudnie |
poslije podne | poslijepodne | prynhawn | pärastlõuna | pärastlõunal | på efterm. | på eftermiddagen |
på ettermiddagen | på kvelden | på kvällen | pēcpusd. | pēcpusdiena | pēcpusdienā | rãkãnh kỹ | seara | seia | sera |
siang | soir | sore | síðdegis | tarda | tarde | tối | vakaras | vakars | vakarā | vespre | več. | večer | wiecz. |
wieczorem | wieczór | y prynhawn | yn y prynhawn | yr hwyr | zaabig | zmittag | zveč. | zvečer | õhtu | õhtul |
öğleden sonra | ŋdɔ | ɣetrɔ | απόγ. | απόγευμα | μεσημ. | μεσημέρι | το απόγευμα | το μεσημέρι | веч. | вече | вечер |
вечера | вечерта | вечора | вечір | день | кечинде | кечк | кечкурун | кеш | кешкі | навечер | орой | по подне |
попл. | попладне | поподне | следобед | түстен кейін | түстен кейінгі | түшт кйн | түштөн кийин | увече | өдөр |
երեկո | երեկոյան | երկ | ցերեկ | ցերեկը | ցերեկվա | ցրկ | אחה״צ | אחר הצהריים | בערב | בצהריים | ערב | צהריים |
بعد الظهر | بعدازظهر | دوپہر | دوپہر میں | سہ پہر | شام | شام میں | ظهر | ظهرًا | عصر | مساءً | अपरान्ह | दुपार |
दोपहर | बेलुकी | शाम | संध्याकाळ | साँझ | দুপুর | দুপুরবেলায় | বিকাল | সন্ধ্যা | সন্ধ্যাবেলায় | ਦੁਪਹਿਰੇ | ਸ਼ਾਮ |
ਸ਼ਾਮੀਂ | બપોર | બપોરે | સાંજ | સાંજે | அந்தி மா. | அந்தி மாலை | பிற். | பிற்பகல் | மதி. | மதியம் | மாலை | మధ్యాహ్నం |
సాయంత్రం | ಮಧ್ಯಾಹ್ನ | ಸಂಜೆ | ഉച്ചതിരിഞ്ഞ് | ഉച്ചയ്ക്ക് | വൈകുന്നേരം | സന്ധ്യ | දවල් | හවස | ค่ำ | ช่วงเที่ยง |
ตอนบ่าย | ตอนเย็น | บ่าย | เย็น | ในตอนบ่าย | ในตอนเย็น | ຕອນບ່າຍ | ຕອນແລງ | ສວາຍ | ແລງ | ညနေ | နေ့လယ် | ნაშუადღ. |
ნაშუადღევი | ნაშუადღევს | საღ. | საღამო | საღამოს | ምሽት | በምሽት | ከሰዓት | នៅពេលរសៀល | នៅពេលល្ងាច | រសៀល | ល្ងាច |
’s avonds | ’s middags | 下午 | 下晝 | 傍晚 | 夕方 | 昼 | 오후 | 저녁
""",
    F.NOON: """
adhuhuri | amiază | canol dydd | del mediodía | dél | e mesditës | günorta | hádegi | keskip. | keskipäivä |
keskipäivällä | keskpäev | keskpäeval | la amiază | mchana | mediodía | mesditë | mezzogiorno | midi | mëzogiorno |
nap. | napol. | napoludnie | noon | opold. | opoldne | perpiet | podne | pol. | pold. | poldne | poledne | poludnie |
poł. | południe | pusd. | pusdienlaiks | pusdienlaikā | saa sita za mchana | tengah hari | trưa | tush payti |
vidurdienis | w poł. | w południe | öğle | дня | напл. | напладне | пладне | подне | полд. | полдень | полудень |
талтүс | түскі | чак түш | үд дунд | կեսօր | կեսօրին | կօ․ | मध्यान्ह | நண். | நண்பகல் | ഉച്ച | මධ්‍යාහ්නය | เที่ยง |
ຕອນທ່ຽງ | ທ່ຽງ | မွန်းတည့် | შუადღ. | შუადღე | შუადღეს | ቀትር | ថ្ងៃត្រង់ | 中午 | 正午 | 낮 | 정오
""",
    F.NIGHT: """
at night | axşam | að nóttu | canol nos | da neutte | da noite | de la noche | de la nuit | di notte | die nag |
e mesnatës | e natës | ebusuku | gabi | gajanɩ | gaua | gaueko | gauerd. | gauerdia | gece | gece yarısı | gecə |
gecəyarı | gjn | hajnal | hatinggabi | kechasi | keskiyö | keskiyöllä | kesköö | keskööl | kurã ge |
la miezul nopții | malam | medianoite | mesnatë | mezzanotte | middernacht | middernag | midn. | midnat | midnatt |
midnight | miezul nopții | minuit | mitjanit | mitternacht | miðnætti | mëzaneutte | nacht | nachts | nag | naktis |
nakts | naktī | nat | natt | natë | neutte | ng gabi | night | nit | noaptea | noc | noche | noite | notte | noću |
noč | nótt | nửa đêm | o poln. | o polnoci | o półn. | o północy | om natten | opoln. | opolnoči | pituna pyterupé |
pitunaeté ramẽ | po noći | poln. | polnoc | polnoč | ponoć | ponoči | pusnakts | pusnaktī | på natta | på natten |
półn. | północ | půl. | půln. | půlnoc | saa sita za usiku | tengah malam | usiku | v noci | vidurnaktis | w nocy |
yarim tun | yöllä | znacht | éjfél | éjjel | öösel | đêm | βράδυ | το βράδυ | ночи | ночь | ночі | ноћ | ноћу | ноќ |
ноќе | ніч | полн. | полночь | полноќ | полунощ | поноћ | през нощта | північ | түн | түн жарымы | түн ичинде |
түн орт | түн ортосу | түнгі | шөнө | шөнө дунд | գիշեր | գիշերը | գիշերվա | գշր | կգ․ | կեսգիշեր | կեսգիշերին |
בלילה | חצות | לילה | לפנות בוקר | آدھی رات | رات | رات میں | في المساء | ليلاً | منتصف الليل | نیمه‌شب | आधी रात |
म.रा. | मध्यरात | मध्यरात्र | मध्यरात्रि | रात | रात्र | রাত | রাত্রি | রাত্রিবেলায় | ਅੱਧੀ ਰਾਤ | ਰਾਤ | ਰਾਤੀਂ |
મ.રાત્રિ | મધ્યરાત્રિ | રાત્રિ | રાત્રે | இரவு | நள். | நள்ளிரவு | అర్ధరాత్రి | రాత్రి | ಮಧ್ಯ ರಾತ್ರಿ | ಮಧ್ಯರಾತ್ರಿ |
ರಾತ್ರಿ | അർദ്ധരാത്രി | രാത്രി | මැදියම | මැදියමට පසු | กลางคืน | เที่ยงคืน | ກາງຄືນ | ຕອນກາງຄືນ | ທ່ຽງຄືນ |
သန်းခေါင်ယံ | ღამ. | ღამე | ღამით | შუაღამე | შუაღამეს | ሌሊት | በሌሊት | እኩለ ሌሊት | នៅពេលយប់ | យប់ | អធ្រាត្រ |
’s nachts | 午夜 | 半夜 | 夜 | 夜中 | 夜晚 | 夜里 | 晚上 | 深夜 | 真夜中 | 밤 | 자정
""",
}  # phrases are separated by bars
